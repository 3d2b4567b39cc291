//! The first chapter: the ladder, the few findings that a person would repeat, the others in a fold, and what changes
//! the figures.

use super::figure::figure;
use super::heading::{Level, heading};
use super::placed::{PlacedRecord, PlacedSection};
use super::warnings;
use crate::hues::Hues;
use crate::ladder;
use crate::names::Names;
use maud::{Markup, html};
use record::{Ladder, Statement};
use terminal::counted;

/// So many are read.
const REPEATED: usize = 5;

/// What was found, and where.
type Found<'a> = (&'a Statement, &'a PlacedSection<'a>);

pub fn findings(records: &[PlacedRecord<'_>], ladders: &[Option<Ladder>], hues: &Hues, names: &mut Names) -> Markup {
    let level = if records.len() > 1 { Level::Figure } else { Level::Section };
    html! {
        section.overview {
            (heading(Level::Chapter, "findings", "Findings"))
            @for (record, ladder) in records.iter().zip(ladders) {
                @if records.len() > 1 {
                    h3 { (record.source.name) }
                }
                @if let Some(ladder) = ladder {
                    (figure(&ladder::figure(ladder), &names.take("ladder"), level, hues))
                }
                (one(record))
                (warnings::of_record(record))
            }
        }
    }
}

fn one(record: &PlacedRecord<'_>) -> Markup {
    let (repeated, others) = chosen(found(record).collect());
    html! {
        ul.findings { (list(&repeated)) }
        @if !others.is_empty() {
            details {
                summary { (counted(others.len(), "further finding")) }
                ul.findings { (list(&others)) }
            }
        }
    }
}

fn list(found: &[Found<'_>]) -> Markup {
    html! {
        @for (finding, about) in found {
            li { (finding.words) " " a href={ "#" (about.id) } { (about.section.title) } }
        }
    }
}

/// Those that their experiments would have repeated, and the others; of a record that names none the first of each
/// section.
fn chosen(found: Vec<Found<'_>>) -> (Vec<Found<'_>>, Vec<Found<'_>>) {
    let is_named = found.iter().any(|(finding, _)| finding.is_repeated);
    let is_first = |place: usize| found[..place].iter().all(|(_, about)| about.id != found[place].1.id);
    let is_short = found.len() <= REPEATED;
    let wanted: Vec<bool> = (0..found.len())
        .map(|place| if is_named { found[place].0.is_repeated } else { is_short || is_first(place) })
        .collect();
    let mut left = REPEATED;
    let (repeated, others): (Vec<_>, Vec<_>) = found.into_iter().zip(wanted).partition(|(_, is_wanted)| {
        let is_taken = *is_wanted && left > 0;
        left -= usize::from(is_taken);
        is_taken
    });
    let bare = |list: Vec<(_, bool)>| list.into_iter().map(|(one, _)| one).collect();
    (bare(repeated), bare(others))
}

/// What the summary found, or all sections where there is none; each with the section that it is about.
fn found<'a>(record: &'a PlacedRecord<'a>) -> impl Iterator<Item = Found<'a>> {
    let sections = record.sections.iter().filter(|placed| placed.is_summary() || !record.has_summary());
    sections.flat_map(|placed| {
        let about = |finding: &Statement| finding.about.as_deref().and_then(|part| record.section_of(part));
        placed.section.findings.iter().map(move |finding| (finding, about(finding).unwrap_or(placed)))
    })
}
