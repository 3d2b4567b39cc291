//! The first chapter: what was found, and how far to believe it.

use super::heading::{Level, heading};
use super::placed::{PlacedRecord, PlacedSection};
use maud::{Markup, html};
use record::Statement;

pub fn findings(records: &[PlacedRecord<'_>]) -> Markup {
    html! {
        section {
            (heading(Level::Chapter, "findings", "Findings"))
            @for record in records {
                @if records.len() > 1 {
                    h3 { (record.source.name) }
                }
                ul.findings {
                    @for (finding, about) in found(record) {
                        li { (finding.words) " " a href={ "#" (about.id) } { (about.section.title) } }
                    }
                    li { (warnings(record.source.warnings.len())) }
                }
            }
        }
    }
}

/// What the summary found, or all sections where there is none; each with the section that it is about.
fn found<'a>(record: &'a PlacedRecord<'a>) -> impl Iterator<Item = (&'a Statement, &'a PlacedSection<'a>)> {
    let sections = record.sections.iter().filter(|placed| placed.is_summary() || !record.has_summary());
    sections.flat_map(|placed| {
        let about = |finding: &Statement| finding.about.as_deref().and_then(|part| record.section_of(part));
        placed.section.findings.iter().map(move |finding| (finding, about(finding).unwrap_or(placed)))
    })
}

fn warnings(count: usize) -> String {
    match count {
        0 => "No warnings.".to_owned(),
        1 => "1 warning: read it before you believe this.".to_owned(),
        several => format!("{several} warnings: read them before you believe this."),
    }
}
