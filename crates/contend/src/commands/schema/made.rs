//! The schema of records, made from the types that they are written from: the common envelope, around the parameters
//! and rows of an experiment.
//!
//! It is compiled for tests only, since it generates code for every type of every record; a user's program has the
//! stored schema.

use super::{PLACE, definition, names, owner};
use crate::commands::survey_record::{self, FINDINGS, Parameters, THEN_AND_NOW, key};
use harness::AnyRecord;
use record::{Finding, SCHEMA, ThenAndNow};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Returns the schema of records of any experiment.
pub fn of_all() -> Schema {
    let mut made = Made::default();
    let mut kinds = Vec::new();
    for name in names() {
        let Some(schema) = made.record(name) else { continue };
        made.generator.definitions_mut().insert(definition(name), schema.to_value());
        kinds.push((name, Schema::new_ref(format!("{PLACE}{}", definition(name)))));
    }
    made.whole(by_experiment(&kinds))
}

fn require_no_default(schema: &mut Schema) {
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let has_default = |name: &Value| name.as_str().is_some_and(|name| properties[name].get("default").is_some());
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !has_default(name));
    }
}

/// The definitions that have been made so far.
struct Made {
    generator: SchemaGenerator,
    names: Names,
}

impl Default for Made {
    fn default() -> Self {
        // The schema describes written records, not all readable ones; but a field with a default was added later, and
        // older records lack it.
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let generator = settings.with_transform(RecursiveTransform(require_no_default)).into_generator();
        Self { generator, names: Names::default() }
    }
}

impl Made {
    fn record(&mut self, name: &str) -> Option<Schema> {
        let [parameters, row] = match experiments::named(name) {
            Some(entry) => entry.schema(&mut self.generator),
            None if name == survey_record::NAME => of_survey(&mut self.generator),
            None => return None,
        };
        let schema = enveloped(name, parameters, row, &mut self.generator);
        self.names.claim(&owner(name), &self.generator);
        Some(schema)
    }

    /// Returns the schema with its definitions.
    fn whole(mut self, schema: Schema) -> Schema {
        let meta = self.generator.settings().meta_schema.clone();
        let definitions = self.names.put_on(Value::Object(self.generator.take_definitions(true)));
        let mut whole = json_schema!({"$schema": meta, "title": "A record of contend"});
        let schema = self.names.refer(schema.to_value());
        whole.ensure_object().extend(schema.as_object().cloned().unwrap_or_default());
        whole.insert("$defs".to_owned(), definitions);
        whole
    }
}

/// Returns the envelope around the parameters and rows of this experiment.
fn enveloped(name: &str, parameters: Schema, row: Schema, generator: &mut SchemaGenerator) -> Schema {
    let mut schema = AnyRecord::json_schema(generator);
    schema.remove("description");
    let fields = &mut schema.ensure_object()["properties"];
    fields["schema"] = json!({"description": "The version of the layout.", "const": SCHEMA});
    fields["experiment"]["const"] = json!(name);
    if let (Value::Object(field), Value::Object(parameters)) = (&mut fields["parameters"], parameters.to_value()) {
        field.extend(parameters);
    }
    fields["results"]["items"] = row.to_value();
    // A record without results is not delivered.
    fields["results"]["minItems"] = json!(1);
    schema
}

/// Returns the parameters and rows of a survey: those of its experiments, and its own.
fn of_survey(generator: &mut SchemaGenerator) -> [Schema; 2] {
    let mut parameters = Parameters::json_schema(generator);
    let mut rows = Vec::new();
    for entry in experiments::ALL.iter().filter(|entry| entry.survey.is_some()) {
        let [of_it, row] = entry.schema(generator);
        // An experiment that did not run has none.
        parameters.ensure_object()["properties"][key(entry)] = json!({"anyOf": [of_it, {"type": "null"}]});
        rows.push((entry.name, row));
    }
    rows.push((FINDINGS, generator.subschema_for::<Finding>()));
    rows.push((THEN_AND_NOW, generator.subschema_for::<ThenAndNow>()));
    [parameters, by_experiment(&rows)]
}

const EXPERIMENT: &str = "experiment";

/// Returns a schema of objects of these kinds: the field `experiment` determines the other fields.
///
/// It has conditions, not `oneOf`: a validator then names the wrong field instead of reporting that nothing fits.
fn by_experiment(kinds: &[(&str, Schema)]) -> Schema {
    let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
    json_schema!({
        "type": "object",
        "properties": {EXPERIMENT: {"enum": names}},
        "required": [EXPERIMENT],
        "allOf": kinds.iter().map(condition).collect::<Vec<Value>>(),
    })
}

fn condition((name, schema): &(&str, Schema)) -> Value {
    json!({"if": {"properties": {EXPERIMENT: {"const": name}}}, "then": schema})
}

/// The name of each definition.
///
/// Every experiment has its `Parameters` and `Row`, which schemars numbers in the order in which it meets them; with
/// the experiment's name instead they do not change when an experiment is added. A full stop is in no type's name.
#[derive(Default)]
struct Names(BTreeMap<String, String>);

impl Names {
    /// Assigns the definitions that are new since the last call to this owner.
    fn claim(&mut self, owner: &str, generator: &SchemaGenerator) {
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
    fn put_on(&self, definitions: Value) -> Value {
        let Value::Object(definitions) = self.refer(definitions) else { return Value::Null };
        definitions.into_iter().map(|(name, schema)| (self.renamed(&name).to_owned(), schema)).collect()
    }

    /// Returns a schema that refers to them by these names.
    fn refer(&self, schema: Value) -> Value {
        match schema {
            Value::Object(fields) => fields.into_iter().map(|(name, value)| self.field(name, value)).collect(),
            Value::Array(items) => items.into_iter().map(|item| self.refer(item)).collect(),
            other => other,
        }
    }

    fn field(&self, name: String, value: Value) -> (String, Value) {
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

// The template adds an experiment that is not in the stored schema.
#[cfg(all(test, not(feature = "template")))]
mod tests {
    use super::*;
    use std::env;
    use std::fs;
    use std::path::Path;

    #[test]
    fn stored_schema_equals_that_of_the_types() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema.json");
        let made = serde_json::to_string_pretty(&of_all()).unwrap() + "\n";
        if env::var_os("CONTEND_RENEW").is_some() {
            fs::write(&file, &made).unwrap();
        }
        assert!(
            fs::read_to_string(&file).unwrap() == made,
            "docs/schema.json is not what records look like. Fields may be added; that none changed its meaning or \
             went away is for you to see. `CONTEND_RENEW=1 cargo test -p contend --lib schema` renews it."
        );
    }
}
