//! The schema of all records, and the part of it that describes those of one experiment.

use super::kinds::{definition, names};
use serde_json::{Map, Value, json};

/// The prefix of a reference to a definition.
const PLACE: &str = "#/$defs/";

/// Returns the schema of records of any experiment, as it is stored.
///
/// # Errors
/// None; a test compares it with the types.
#[cfg(not(feature = "schema"))]
pub fn of_all() -> serde_json::Result<Value> {
    serde_json::from_str(include_str!("../../../../../docs/schema.json"))
}

/// Returns the schema of records of any experiment, made from the types.
#[cfg(feature = "schema")]
pub fn of_all() -> serde_json::Result<Value> {
    Ok(super::made::of_all().to_value())
}

/// Returns the schema of one experiment's records, if it is known.
pub fn of(name: &str) -> serde_json::Result<Option<Value>> {
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
