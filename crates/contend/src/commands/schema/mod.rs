//! `contend schema`: the JSON schema of records, which a test compares with the types that they are written from.

#[cfg(any(test, feature = "schema"))]
mod made;

use super::survey_record;
use crate::output::print_or_write;
use clap::Args;
use harness::{Outcome, SharedFlags, UsageError};
use serde_json::{Map, Value, json};

/// Print the JSON schema of records (draft 2020-12)
///
/// The schema describes the records that this version of contend writes with --format json. A record of a newer version may have additional
/// fields.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Experiment, such as latency, model frames or survey [default: one schema for all]
    #[arg(value_name = "EXPERIMENT", num_args = 0..=2)]
    experiment: Vec<String>,
}

/// Prints the schema, or writes it to the file that `--output` names.
///
/// # Errors
/// The experiment is unknown, a schema does not have the format, or a file cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let schema = match flags.experiment.join(" ").as_str() {
        "" => of_all()?,
        name => of(name)?.ok_or_else(|| unknown(name))?,
    };
    print_or_write(&(serde_json::to_string_pretty(&schema)? + "\n"), shared)?;
    Ok(Outcome::Done)
}

fn unknown(name: &str) -> UsageError {
    UsageError(format!("{name}: no such experiment; allowed: {}, or no name for all", names().join(", ")))
}

/// The prefix of a reference to a definition.
const PLACE: &str = "#/$defs/";

/// Returns the schema of records of any experiment, as it is stored.
///
/// # Errors
/// None; a test compares it with the types.
#[cfg(not(feature = "schema"))]
fn of_all() -> serde_json::Result<Value> {
    serde_json::from_str(include_str!("../../../../../docs/schema.json"))
}

/// Returns the schema of records of any experiment, made from the types.
#[cfg(feature = "schema")]
fn of_all() -> serde_json::Result<Value> {
    Ok(made::of_all().to_value())
}

/// Returns the schema of one experiment's records, if it is known.
fn of(name: &str) -> serde_json::Result<Option<Value>> {
    if !names().contains(&name) {
        return Ok(None);
    }
    let all = of_all()?;
    let definitions = &all["$defs"];
    let mut whole = Map::new();
    whole.insert("$schema".to_owned(), all["$schema"].clone());
    whole.insert("title".to_owned(), json!(format!("A record of contend {name}")));
    whole.extend(definitions[definition(name)].as_object().cloned().unwrap_or_default());
    let needed = needed(&Value::Object(whole.clone()), definitions);
    whole.insert("$defs".to_owned(), Value::Object(needed));
    Ok(Some(Value::Object(whole)))
}

/// Returns the definitions that a schema refers to, directly or through others, in their order.
fn needed(schema: &Value, definitions: &Value) -> Map<String, Value> {
    let mut names = Vec::new();
    refer(schema, &mut names);
    let mut seen = 0;
    while let Some(name) = names.get(seen).cloned() {
        refer(&definitions[&name], &mut names);
        seen += 1;
    }
    let all = definitions.as_object().cloned().unwrap_or_default();
    all.into_iter().filter(|(name, _)| names.contains(name)).collect()
}

/// Collects the direct references of a schema.
fn refer(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let target = fields.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix(PLACE));
            if let Some(name) = target.filter(|name| !names.iter().any(|known| known == name)) {
                names.push(name.to_owned());
            }
            fields.values().for_each(|field| refer(field, names));
        }
        Value::Array(items) => items.iter().for_each(|item| refer(item, names)),
        _ => {}
    }
}

/// Returns the experiments whose records have schemas.
fn names() -> Vec<&'static str> {
    experiments::ALL.iter().map(|entry| entry.name).chain([survey_record::NAME]).collect()
}

/// Returns the prefix of an experiment's definitions: `model-frames`.
fn owner(name: &str) -> String {
    name.replace(' ', "-")
}

/// Returns the name of the definition of its records.
fn definition(name: &str) -> String {
    owner(name) + ".Record"
}
