//! Warnings where they matter: one that changes a figure is at that figure, or below the ladder where it changes all of
//! them; one that limits a conclusion is below the ladder too; advice is folded. How much one matters it says itself.

use super::placed::PlacedRecord;
use instruments::warning::{FewSamples, NotConverged, Severity, Warning};
use maud::{Markup, html};
use record::Figure;
use serde_json::Value;
use std::ptr;
use terminal::{counted, without_error_numbers};

/// Those of a record that belong to no single figure.
pub fn of_record(record: &PlacedRecord<'_>) -> Markup {
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
        @for warning in limiting { p.limit { (said(warning)) } }
        @if !short.is_empty() { (too_short(&short)) }
        @if !rest.is_empty() || !strange.is_empty() {
            details.notes {
                summary { (counted(rest.len() + strange.len(), "note")) " with advice" }
                ul {
                    @for warning in rest { li { (said(warning)) } }
                    @for value in strange { li { "Warning: " (value) } }
                }
            }
        }
    }
}

/// Those that change this figure and not all of them; each stands at the first figure that it is about.
pub fn at_figure(record: &PlacedRecord<'_>, figure: &Figure) -> Markup {
    let known = record.source.warnings.iter().filter_map(record::warning);
    let is_here =
        |warning: &Warning| figures(record).find(|one| is_about(warning, one)).is_some_and(|one| ptr::eq(one, figure));
    let about = known.filter(|warning| warning.severity() == Severity::ChangesFigure && is_here(warning));
    html! { @for warning in about { (caution(&warning)) } }
}

fn figures<'a>(record: &'a PlacedRecord<'a>) -> impl Iterator<Item = &'a Figure> {
    record.sections.iter().flat_map(|placed| &placed.section.figures)
}

/// A warning names what it is about as the titles of its figures do: `std`, `std, 2 threads`.
fn is_about(warning: &Warning, figure: &Figure) -> bool {
    let what = warning.field("what").and_then(Value::as_str).filter(|what| !what.is_empty());
    what.is_some_and(|what| {
        figure.title.strip_prefix(what).is_some_and(|rest| rest.is_empty() || rest.starts_with([',', ':']))
    })
}

/// That there was too little time.
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
            ul { @for warning in short { li { (said(warning)) } } }
        }
    }
}

fn caution(warning: &Warning) -> Markup {
    html! { p.caution { (said(warning)) } }
}

fn said(warning: &Warning) -> Markup {
    let message = without_error_numbers(warning.message());
    html! { "Warning: " (message) " [" (warning.code()) "]. Remedy: " (warning.remedy()) }
}
