//! One record: how it was measured, what to beware of, and its sections.

use super::figure::figure;
use super::heading::{Level, heading};
use super::methods::Method;
use super::placed::{PlacedRecord, PlacedSection};
use super::setting::setting;
use crate::names::Names;
use maud::{Markup, html};
use record::{Figure, Section};
use serde_json::Value;

pub fn one_record(record: &PlacedRecord<'_>, place: usize, method: Method<'_>, names: &mut Names) -> Markup {
    let source = record.source;
    let id = names.take(&format!("record-{}", place + 1));
    html! {
        section {
            (heading(Level::Chapter, &id, &format!("{}: {}", source.name, source.experiment)))
            (setting(source))
            @if !source.warnings.is_empty() {
                (warnings(&source.warnings))
            }
            @for placed in &record.sections {
                section {
                    (heading(Level::Section, &placed.id, &placed.section.title))
                    @if method(placed.section.experiment).is_some() {
                        p { a href={ "#method-" (placed.section.experiment) } { "How it is measured" } }
                    }
                    // Where nothing sums up, they stand in the first chapter already.
                    @if record.has_summary() && !placed.is_summary() {
                        (findings(placed.section))
                    }
                    (figures(placed, names))
                }
            }
        }
    }
}

fn warnings(warnings: &[Value]) -> Markup {
    html! {
        div.warnings role="note" aria-label="Warnings" {
            ul {
                @for warning in warnings {
                    li {
                        @match record::warning(warning) {
                            Some(said) => {
                                "Warning: " (said.message()) " [" (said.code()) "]. Remedy: " (said.remedy())
                            }
                            None => { "Warning: " (warning) }
                        }
                    }
                }
            }
        }
    }
}

fn findings(section: &Section) -> Markup {
    html! {
        @if !section.findings.is_empty() {
            ul.findings {
                @for finding in &section.findings {
                    li { (finding.words) }
                }
            }
        }
    }
}

fn figures(placed: &PlacedSection<'_>, names: &mut Names) -> Markup {
    let (secondary, primary): (Vec<&Figure>, Vec<&Figure>) =
        placed.section.figures.iter().partition(|figure| figure.secondary);
    let mut all = |figures: Vec<&Figure>| {
        html! {
            @for one in figures {
                (figure(one, &names.take(&format!("{} {}", placed.id, one.title))))
            }
        }
    };
    html! {
        (all(primary))
        @if !secondary.is_empty() {
            details {
                summary { "Further pictures" }
                (all(secondary))
            }
        }
    }
}
