//! A record that is read back, shown by the experiment that made it.

use super::survey;
use anyhow::{Context, bail};
use harness::AnyRecord;
use serde::Deserialize;
use serde_json::{Map, Value};
use terminal::Page;

/// Whether every experiment that the record names is one of this contend's.
pub fn is_known(fields: &Map<String, Value>) -> bool {
    match (fields.get("experiment").and_then(Value::as_str), fields.get("results").and_then(Value::as_array)) {
        (Some(survey::NAME), Some(rows)) => survey::unknown_experiment(rows).is_none(),
        (Some(name), _) => experiments::named(name).is_some(),
        (None, _) => true,
    }
}

/// The record of this name and with these fields, on a page.
///
/// # Errors
/// An experiment that this version does not know, or a record that it cannot read.
pub fn shown(name: &str, fields: &Map<String, Value>, page: &Page) -> anyhow::Result<String> {
    let unreadable = || format!("{name}: cannot read the record; an older record may lack fields");
    let unknown = |experiment: &str| {
        format!(
            "{name}: its experiment {experiment:?} is unknown to this version of contend; a newer version may show it"
        )
    };
    let record = AnyRecord::deserialize(fields).with_context(unreadable)?;
    if record.experiment == survey::NAME {
        if let Some(experiment) = survey::unknown_experiment(&record.results) {
            bail!(unknown(experiment));
        }
        return survey::shown(&record, page).with_context(unreadable);
    }
    let entry = experiments::named(&record.experiment).with_context(|| unknown(&record.experiment))?;
    entry.show(&record, page).with_context(unreadable)
}
