//! Records as they are read from files: from other users, perhaps damaged, perhaps of another version.

use crate::reading;
use anyhow::{Context, anyhow, bail};
use instruments::statistics::order::median;
use instruments::warning::Warning;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A record as it was read.
pub struct Source {
    /// The file's name, for people.
    pub name: String,
    pub experiment: String,
    pub environment: Map<String, Value>,
    pub parameters: Map<String, Value>,
    pub warnings: Vec<Value>,
    /// The rows by experiment: a survey has those of several.
    pub parts: Vec<(String, Vec<Value>)>,
}

/// The share of the CPUs from which on the time of other programs disturbs every rate.
const DISTURBING_SHARE: f64 = 0.15;

impl Source {
    pub fn is_disturbed(&self) -> bool {
        self.taken_by_others() >= DISTURBING_SHARE
    }

    /// Returns the share of its CPUs that other programs used during the run, where the record has it.
    pub fn taken_by_others(&self) -> f64 {
        let share = |warning: &Value| {
            let is_taken = matches!(warning["code"].as_str(), Some("other_load" | "steal"));
            warning["share"].as_f64().filter(|_| is_taken)
        };
        self.warnings.iter().filter_map(share).sum()
    }

    /// Returns the frequency in GHz of the core while exclusive, as the median of the rows that have it.
    pub fn core_ghz(&self) -> Option<f64> {
        let rows = self.parts.iter().flat_map(|(_, rows)| rows);
        median(&rows.filter_map(|row| row["core_ghz_alone"].as_f64()).collect::<Vec<_>>())
    }
}

/// Parses a record from these bytes.
///
/// # Errors
/// They are not a record that this program understands.
pub fn understand(name: &str, bytes: &[u8]) -> anyhow::Result<Source> {
    understood(name, reading::fields(name, bytes)?).with_context(|| reading::unreadable(name))
}

fn understood(name: &str, mut record: Map<String, Value>) -> anyhow::Result<Source> {
    let Some(Value::String(experiment)) = record.remove("experiment") else {
        bail!("the field experiment is not a string")
    };
    let Some(Value::Object(environment)) = record.remove("environment") else {
        bail!("the field environment is not an object")
    };
    let Some(Value::Object(parameters)) = record.remove("parameters") else {
        bail!("the field parameters is not an object")
    };
    let Some(Value::Array(results)) = record.remove("results") else { bail!("the field results is not an array") };
    let Some(Value::Array(warnings)) = record.remove("warnings") else { bail!("the field warnings is not an array") };
    if results.is_empty() {
        bail!("the record has no results");
    }
    let parts = parts(&experiment, results)?;
    Ok(Source { name: name.to_owned(), experiment, environment, parameters, warnings, parts })
}

/// Splits the rows by experiment: a survey's rows name theirs.
fn parts(experiment: &str, results: Vec<Value>) -> anyhow::Result<Vec<(String, Vec<Value>)>> {
    if experiment != "survey" {
        return Ok(vec![(experiment.to_owned(), results)]);
    }
    let mut parts: Vec<(String, Vec<Value>)> = Vec::new();
    for (place, mut row) in results.into_iter().enumerate() {
        let experiment_name = row.as_object_mut().and_then(|row| row.remove("experiment"));
        let Some(Value::String(experiment_name)) = experiment_name else {
            bail!("row {} does not name its experiment", place + 1)
        };
        match parts.iter_mut().find(|(experiment, _)| *experiment == experiment_name) {
            Some((_, rows)) => rows.push(row),
            None => parts.push((experiment_name, vec![row])),
        }
    }
    // The findings of the survey come before the rows of each experiment.
    parts.sort_by_key(|(experiment, _)| match experiment.as_str() {
        "findings" => 0,
        "then_and_now" => 1,
        _ => 2,
    });
    Ok(parts)
}

/// Returns the rows of one experiment in its type.
///
/// # Errors
/// A row does not have this type.
pub fn typed<'a, R: DeserializeOwned>(rows: impl IntoIterator<Item = &'a Value>) -> anyhow::Result<Vec<R>> {
    let read = |(place, row): (usize, &Value)| {
        R::deserialize(row).map_err(|error| anyhow!("row {} is invalid: {error}", place + 1))
    };
    rows.into_iter().enumerate().map(read).collect()
}

/// Returns a warning, of another version too; `None` for a value that is not a warning.
pub fn warning(value: &Value) -> Option<Warning> {
    Warning::deserialize(value).ok()
}

/// Returns every value of an environment, or of parameters, with the path of its names, as text.
pub fn flattened(fields: &Map<String, Value>) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for (name, value) in fields {
        match value {
            Value::Object(inner) => {
                lines.extend(flattened(inner).into_iter().map(|(path, text)| (format!("{name}.{path}"), text)));
            }
            other => lines.push((name.clone(), words(other))),
        }
    }
    lines
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "unknown".into(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.iter().all(Value::is_string) => {
            values.iter().map(words).collect::<Vec<String>>().join(" ")
        }
        other => other.to_string(),
    }
}
