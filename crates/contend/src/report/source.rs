//! Records as they come from files: somebody else's, perhaps broken, perhaps of another version.

use crate::record::SCHEMA;
use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A record as it was read.
pub struct Source {
    /// The file's name, for people.
    pub name: String,
    pub experiment: String,
    pub environment: Map<String, Value>,
    pub warnings: Vec<Value>,
    /// Its rows by experiment: a survey has those of several.
    pub parts: Vec<(String, Vec<Value>)>,
}

/// Reads a record; `-` is standard input.
///
/// # Errors
/// A file that cannot be read, or is no record that this program understands.
pub fn read(path: &Path) -> anyhow::Result<Source> {
    let mut bytes = Vec::new();
    let (name, outcome) = if path == Path::new("-") {
        ("standard input".to_owned(), std::io::stdin().lock().read_to_end(&mut bytes).map(drop))
    } else {
        (path.display().to_string(), std::fs::read(path).map(|content| bytes = content))
    };
    outcome.with_context(|| format!("{name} cannot be read"))?;
    understand(&name, &bytes).with_context(|| format!("{name} is no record for a report"))
}

/// Reads a record's content.
///
/// # Errors
/// It is no record that this program understands.
pub fn understand(name: &str, bytes: &[u8]) -> anyhow::Result<Source> {
    const HOW: &str = "`contend … --format json --output FILE` writes one";
    if bytes.iter().all(u8::is_ascii_whitespace) {
        bail!("it is empty; {HOW}");
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| match error.is_eof() {
        true => anyhow!("it is truncated: {error}; measure again, or take another copy"),
        false => anyhow!("it is not JSON: {error}; {HOW}"),
    })?;
    let Value::Object(mut record) = value else { bail!("it is JSON, but not an object; {HOW}") };
    match record.get("schema").and_then(Value::as_str) {
        Some(SCHEMA) => {}
        Some(other) if other.starts_with("contend/") => {
            bail!(
                "its schema is {other:?}, and this contend reads {SCHEMA:?}; use the contend that wrote it, or a newer one"
            )
        }
        _ => bail!("it has no schema {SCHEMA:?}; {HOW}"),
    }
    let Some(Value::String(experiment)) = record.remove("experiment") else { bail!("its field experiment is no text") };
    let Some(Value::Object(environment)) = record.remove("environment") else {
        bail!("its field environment is no object")
    };
    let Some(Value::Array(results)) = record.remove("results") else { bail!("its field results is no array") };
    let Some(Value::Array(warnings)) = record.remove("warnings") else { bail!("its field warnings is no array") };
    if results.is_empty() {
        bail!("it has no results");
    }
    let parts = parts(&experiment, results)?;
    Ok(Source { name: name.to_owned(), experiment, environment, warnings, parts })
}

/// A survey's rows say themselves which experiment they are of.
fn parts(experiment: &str, results: Vec<Value>) -> anyhow::Result<Vec<(String, Vec<Value>)>> {
    if experiment != "survey" {
        return Ok(vec![(experiment.to_owned(), results)]);
    }
    let mut parts: Vec<(String, Vec<Value>)> = Vec::new();
    for (place, mut row) in results.into_iter().enumerate() {
        let whose = row.as_object_mut().and_then(|row| row.remove("experiment"));
        let Some(Value::String(whose)) = whose else { bail!("its row {} does not say its experiment", place + 1) };
        match parts.iter_mut().find(|(experiment, _)| *experiment == whose) {
            Some((_, rows)) => rows.push(row),
            None => parts.push((whose, vec![row])),
        }
    }
    // What the survey found comes before what each experiment did.
    parts.sort_by_key(|(experiment, _)| experiment != "findings");
    Ok(parts)
}

/// Every value of an environment with the path of its names, as text.
pub fn flattened(environment: &Map<String, Value>) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for (name, value) in environment {
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

/// The paths of the records, each once, and the page not among them.
///
/// # Errors
/// What makes no sense, in words.
pub fn check(records: &[PathBuf], output: Option<&Path>) -> Result<(), String> {
    for (place, path) in records.iter().enumerate() {
        if records[..place].contains(path) {
            return Err(format!("{} is named twice; name each record once", path.display()));
        }
    }
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let page = output.filter(|path| *path != Path::new("-") && path.is_file()).map(resolved);
    match records.iter().find(|path| page.as_ref() == Some(&resolved(path))) {
        Some(path) => Err(format!("--output {} would overwrite a record; choose another file", path.display())),
        None => Ok(()),
    }
}
