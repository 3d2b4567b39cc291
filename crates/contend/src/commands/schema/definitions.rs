//! Names of the definitions of a schema. Every experiment has its `Parameters` and `Row`, which schemars numbers in the
//! order in which it meets them; with the experiment's name instead they do not change when an experiment is added. A
//! full stop is in no type's name.

use schemars::SchemaGenerator;
use serde_json::Value;
use std::collections::BTreeMap;

/// The name of each definition.
#[derive(Default)]
pub struct Names(BTreeMap<String, String>);

impl Names {
    /// Assigns the definitions that are new since the last call to this owner.
    pub fn claim(&mut self, owner: &str, generator: &SchemaGenerator) {
        for name in generator.definitions().keys() {
            let plain = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
            let is_its_own = plain != name || ["Parameters", "Row"].contains(&plain);
            let new = if is_its_own { format!("{owner}.{plain}") } else { name.clone() };
            // The owner may have two of the same name.
            let new = if self.0.values().any(|taken| *taken == new) { format!("{owner}.{name}") } else { new };
            self.0.entry(name.clone()).or_insert(new);
        }
    }

    /// Returns the definitions under these names.
    pub fn put_on(&self, definitions: Value) -> Value {
        let Value::Object(definitions) = self.refer(definitions) else { return Value::Null };
        definitions.into_iter().map(|(name, schema)| (self.renamed(&name).to_owned(), schema)).collect()
    }

    /// Returns a schema that refers to them by these names.
    pub fn refer(&self, schema: Value) -> Value {
        match schema {
            Value::Object(fields) => fields.into_iter().map(|(name, value)| self.field(name, value)).collect(),
            Value::Array(items) => items.into_iter().map(|item| self.refer(item)).collect(),
            other => other,
        }
    }

    fn field(&self, name: String, value: Value) -> (String, Value) {
        const PLACE: &str = "#/$defs/";
        let target = value.as_str().filter(|_| name == "$ref").and_then(|text| text.strip_prefix(PLACE));
        match target {
            Some(target) => (name, format!("{PLACE}{}", self.renamed(target)).into()),
            None => (name, self.refer(value)),
        }
    }

    fn renamed<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }
}
