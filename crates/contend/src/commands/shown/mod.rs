//! A record that is read back, shown by the experiment that made it.

pub mod survey;

use super::survey_record::{NAME as SURVEY, unknown_experiment};
use crate::output::warnings::{self, Advice};
use anyhow::{Context, bail};
use harness::AnyRecord;
use serde::Deserialize;
use serde_json::{Map, Value};
use terminal::Page;

/// Returns whether this contend knows every experiment that the record names.
pub fn is_known(fields: &Map<String, Value>) -> bool {
    match (fields.get("experiment").and_then(Value::as_str), fields.get("results").and_then(Value::as_array)) {
        (Some(SURVEY), Some(rows)) => unknown_experiment(rows).is_none(),
        (Some(name), _) => experiments::named(name).is_some(),
        (None, _) => true,
    }
}

/// The part of a record that is shown.
#[derive(Clone, Copy)]
pub enum Extent<'a> {
    /// All tables and pictures, and every warning.
    Whole,
    /// The output of its measurement; the text is the command that shows the rest.
    AsMeasured(&'a str),
}

/// Shows the record of this name and with these fields on a page, with its warnings.
///
/// # Errors
/// This version does not know the experiment, or cannot read the record.
pub fn shown(name: &str, fields: &Map<String, Value>, extent: Extent<'_>, page: &Page) -> anyhow::Result<String> {
    let unreadable = || format!("{name}: cannot read the record; an older record may lack fields");
    let unknown = |experiment: &str| {
        format!("{name}: the experiment {experiment:?} is unknown to this version of contend; use a newer version")
    };
    let mut record = AnyRecord::deserialize(fields).with_context(unreadable)?;
    // The record of a brief output has everything, too.
    if let (Extent::Whole, Some(all)) = (extent, record.parameters.get_mut("all")) {
        *all = Value::Bool(true);
    }
    if record.experiment == SURVEY
        && let Some(experiment) = unknown_experiment(&record.results)
    {
        bail!(unknown(experiment));
    }
    let advice = match extent {
        Extent::Whole => Advice::Printed,
        Extent::AsMeasured(how) => Advice::Counted(how),
    };
    let warnings = warnings::text(&record.warnings, advice, page);
    let parts = match (record.experiment.as_str(), extent) {
        // A survey ends with a screen that its warnings must not scroll away.
        (SURVEY, Extent::AsMeasured(whole)) => {
            [warnings, survey::closing(&record, whole, page).with_context(unreadable)?]
        }
        (SURVEY, Extent::Whole) => [survey::show(&record, page).with_context(unreadable)?, warnings],
        (name, _) => {
            let entry = experiments::named(name).with_context(|| unknown(name))?;
            let text = entry.read_all(&record).and_then(|rows| rows.show(&record, page));
            [text.with_context(unreadable)?, warnings]
        }
    };
    Ok(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"))
}
