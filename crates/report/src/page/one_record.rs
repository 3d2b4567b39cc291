//! One record: how it was measured, and its sections, with what changes a figure at that figure.

use super::figure::figure;
use super::heading::{Level, heading};
use super::methods::Method;
use super::placed::{PlacedRecord, PlacedSection};
use super::setting::setting;
use super::warnings;
use crate::hues::Hues;
use crate::names::Names;
use maud::{Markup, html};
use record::{Figure, Picture, Section};
use terminal::counted;

pub fn one_record(record: &PlacedRecord<'_>, method: Method<'_>, hues: &Hues, names: &mut Names) -> Markup {
    let source = record.source;
    html! {
        section {
            (heading(Level::Chapter, &record.id, &format!("{}: {}", source.name, source.experiment)))
            (setting(source))
            @for placed in &record.sections {
                section {
                    (heading(Level::Section, &placed.id, &placed.section.title))
                    @if method(placed.section.experiment).is_some() {
                        p { a href={ "#method-" (placed.section.experiment) } { "Method" } }
                    }
                    // Where nothing sums up, they stand in the first chapter already.
                    @if record.has_summary() && !placed.is_summary() {
                        (findings(placed.section))
                    }
                    (figures(record, placed, hues, names))
                }
            }
        }
    }
}

fn findings(section: &Section) -> Markup {
    html! {
        @if !section.findings.is_empty() {
            details {
                summary { (counted(section.findings.len(), "finding")) " of this experiment" }
                ul.findings {
                    @for finding in &section.findings {
                        li { (finding.words) }
                    }
                }
            }
        }
    }
}

fn figures(record: &PlacedRecord<'_>, placed: &PlacedSection<'_>, hues: &Hues, names: &mut Names) -> Markup {
    let (secondary, primary): (Vec<&Figure>, Vec<&Figure>) =
        placed.section.figures.iter().partition(|figure| figure.secondary);
    let has_pictures = secondary.iter().any(|figure| !matches!(figure.picture, Picture::None));
    let kind = if has_pictures { "More charts" } else { "Tables" };
    let mut all = |figures: Vec<&Figure>| {
        html! {
            @for one in figures {
                (warnings::at_figure(record, one))
                (figure(one, &names.take(&format!("{} {}", placed.id, one.title)), Level::Figure, hues))
            }
        }
    };
    html! {
        (all(primary))
        @if !secondary.is_empty() {
            details {
                summary { (kind) ": " (placed.section.title) }
                (all(secondary))
            }
        }
    }
}
