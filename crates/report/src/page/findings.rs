//! The first chapter: the ladder, the few findings that summaries repeat, the others in a fold, and the warnings that
//! change the values.
//!
//! Warnings are shown where they matter: one that changes a value is at that figure, or below the ladder where it
//! changes all of them; one that limits a conclusion is below the ladder too; advice is folded. Each warning has its
//! own severity.

use super::figure::{Level, figure, heading};
use super::summary::verdict_of_trace;
use super::{Names, PlacedRecord, PlacedSection};
use crate::hues::Hues;
use instruments::warning::{FewSamples, NotConverged, Severity, Warning};
use maud::{Markup, html};
use record::{Cost, CostThen, Figure, Ladder, Picture, Statement, Table, Unit};
use serde_json::Value;
use std::ptr;
use terminal::{counted, without_error_numbers};

/// The maximum number of findings that are not folded.
const REPEATED: usize = 5;

/// A finding, and the section that it is about.
type Found<'a> = (&'a Statement, &'a PlacedSection<'a>);

pub fn findings(records: &[PlacedRecord<'_>], ladders: &[Option<Ladder>], hues: &Hues, names: &mut Names) -> Markup {
    let level = if records.len() > 1 { Level::Figure } else { Level::Section };
    html! {
        section.overview {
            (heading(Level::Chapter, "findings", "Findings"))
            @for (record, ladder) in records.iter().zip(ladders) {
                @if records.len() > 1 {
                    h3 { (record.title) }
                }
                @if let Some(ladder) = ladder {
                    (figure(&ladder_figure(ladder, record), &names.take("ladder"), level, hues))
                }
                (one(record, hues, names))
                (record_warnings(record))
            }
        }
    }
}

fn one(record: &PlacedRecord<'_>, hues: &Hues, names: &mut Names) -> Markup {
    // A link to the only section leads nowhere else.
    let is_linked = record.sections.len() > 1;
    let (repeated, further) = chosen(found(record).collect());
    let (verdict, repeated) = match (verdict_of_trace(record.source), &repeated[..]) {
        (None, [(first, _), rest @ ..]) if record.is_led => (Some(first.words.as_str()), rest),
        (verdict, all) => (verdict, all),
    };
    html! {
        @if let Some(verdict) = verdict { p.verdict { (verdict) } }
        @if let Some(lead) = record.lead() {
            (figure_warnings(record, lead))
            (figure(lead, &names.take(&lead.title), Level::Section, hues))
        }
        @if !repeated.is_empty() { ul.findings { (list(repeated, is_linked)) } }
        @if !further.is_empty() {
            details {
                summary { (counted(further.len(), "further finding")) }
                ul.findings { (list(&further, is_linked)) }
            }
        }
    }
}

fn list(found: &[Found<'_>], is_linked: bool) -> Markup {
    html! {
        @for (finding, about) in found {
            li {
                (finding.words)
                @if is_linked { " " a href={ "#" (about.id) } { (about.section.title) } }
            }
        }
    }
}

/// Splits the findings into those that their experiments mark as repeated and the others; if a record marks none, the
/// first of each section is chosen.
fn chosen(found: Vec<Found<'_>>) -> (Vec<Found<'_>>, Vec<Found<'_>>) {
    let is_named = found.iter().any(|(finding, _)| finding.is_repeated);
    let is_first = |place: usize| found[..place].iter().all(|(_, about)| about.id != found[place].1.id);
    let is_short = found.len() <= REPEATED;
    let wanted: Vec<bool> = (0..found.len())
        .map(|place| if is_named { found[place].0.is_repeated } else { is_short || is_first(place) })
        .collect();
    let mut left = REPEATED;
    let (repeated, further): (Vec<_>, Vec<_>) = found.into_iter().zip(wanted).partition(|(_, is_wanted)| {
        let is_taken = *is_wanted && left > 0;
        left -= usize::from(is_taken);
        is_taken
    });
    let bare = |list: Vec<(_, bool)>| list.into_iter().map(|(one, _)| one).collect();
    (bare(repeated), bare(further))
}

/// Returns the findings of the summary, or of all sections where there is none; each with the section that it is about.
fn found<'a>(record: &'a PlacedRecord<'a>) -> impl Iterator<Item = Found<'a>> {
    let sections = record.sections.iter().filter(|placed| placed.is_summary() || !record.has_summary());
    sections.flat_map(|placed| {
        let about = |finding: &Statement| finding.about.as_deref().and_then(|part| record.section_of(part));
        placed.section.findings.iter().map(move |finding| (finding, about(finding).unwrap_or(placed)))
    })
}

/// Returns the warnings of a record that belong to no single figure.
fn record_warnings(record: &PlacedRecord<'_>) -> Markup {
    let known: Vec<Warning> = record.source.warnings.iter().filter_map(record::warning).collect();
    let strange: Vec<&Value> = record.source.warnings.iter().filter(|one| record::warning(one).is_none()).collect();
    let changing = |warning: &Warning| warning.severity() == Severity::ChangesFigure;
    let everywhere =
        known.iter().filter(|warning| changing(warning) && !figures(record).any(|one| is_about(warning, one)));
    let short: Vec<&Warning> = known.iter().filter(|warning| is_short(warning)).collect();
    let rest = || known.iter().filter(|warning| !changing(warning) && !is_short(warning));
    let limiting = rest().filter(|warning| warning.severity() == Severity::LimitsConclusion);
    let rest: Vec<&Warning> = rest().filter(|warning| warning.severity() == Severity::Advice).collect();
    html! {
        @for warning in everywhere { (caution(warning)) }
        @for warning in limiting { p.limit { (warning_markup(warning)) } }
        @if !short.is_empty() { (too_short(&short)) }
        @if !rest.is_empty() || !strange.is_empty() {
            details.notes {
                summary { (counted(rest.len() + strange.len(), "note")) " with advice" }
                ul {
                    @for warning in rest { li { (warning_markup(warning)) } }
                    @for value in strange { li { "Warning: " (value) } }
                }
            }
        }
    }
}

/// Returns the warnings that change this figure and not all of them; each is shown at the first figure that it is
/// about.
pub fn figure_warnings(record: &PlacedRecord<'_>, figure: &Figure) -> Markup {
    let known = record.source.warnings.iter().filter_map(record::warning);
    let is_here =
        |warning: &Warning| figures(record).find(|one| is_about(warning, one)).is_some_and(|one| ptr::eq(one, figure));
    let about = known.filter(|warning| warning.severity() == Severity::ChangesFigure && is_here(warning));
    html! { @for warning in about { (caution(&warning)) } }
}

fn figures<'a>(record: &'a PlacedRecord<'a>) -> impl Iterator<Item = &'a Figure> {
    record.sections.iter().flat_map(|placed| &placed.section.figures)
}

/// Returns whether a warning is about this figure: its subject has the same form as the titles of figures, `std` or
/// `std, 2 threads`.
fn is_about(warning: &Warning, figure: &Figure) -> bool {
    let what = warning.field("what").and_then(Value::as_str).filter(|what| !what.is_empty());
    what.is_some_and(|what| {
        figure.title.strip_prefix(what).is_some_and(|rest| rest.is_empty() || rest.starts_with([',', ':']))
    })
}

/// Returns whether the warning says that there was too little time.
fn is_short(warning: &Warning) -> bool {
    warning.is::<NotConverged>() || warning.is::<FewSamples>()
}

fn too_short(short: &[&Warning]) -> Markup {
    html! {
        details.notes {
            summary {
                "Warning: the run was too short for " (counted(short.len(), "group")) " of values, whose confidence "
                "intervals are wider than requested. Remedy: use a longer --seconds"
            }
            ul { @for warning in short { li { (warning_markup(warning)) } } }
        }
    }
}

fn caution(warning: &Warning) -> Markup {
    html! { p.caution { (warning_markup(warning)) } }
}

fn warning_markup(warning: &Warning) -> Markup {
    let message = without_error_numbers(warning.message());
    html! { "Warning: " (message) " [" (warning.code()) "]. Remedy: " (warning.remedy()) }
}

/// Returns the ladder as a figure: its picture, and the table with the same values.
fn ladder_figure(ladder: &Ladder, record: &PlacedRecord<'_>) -> Figure {
    let mut ladder = ladder.clone();
    for cost in &mut ladder.costs {
        let section = cost.experiment.as_deref().and_then(|experiment| record.section_of(experiment));
        cost.anchor = section.map(|section| section.id.clone());
    }
    let table = Table {
        caption: "Costs of waiting as a table".into(),
        header: vec!["cost", "now (95 % CI)", "in documents of 1998 to 2008", "measured value"],
        rows: ladder.costs.iter().map(line).collect(),
    };
    Figure {
        title: "Costs of waiting, from 1 ns to 10 s; hollow marks: 1998 to 2008".into(),
        picture: Picture::Ladder(ladder),
        tables: vec![table],
        secondary: false,
    }
}

fn line(cost: &Cost) -> Vec<String> {
    let then = |then: &CostThen| format!("{} in {}", Unit::Ns.words(then.ns), then.year);
    let then: Vec<String> = cost.then.iter().map(then).collect();
    vec![
        cost.what.clone(),
        cost.ns_ci.map_or_else(|| cost.value_words(), |_| Unit::Ns.words_with(cost.ns, cost.ns_ci)),
        if then.is_empty() { "–".to_owned() } else { then.join(", ") },
        cost.figure.clone(),
    ]
}
