//! The schema of records, made from the types that they are written from: the common envelope, around the parameters
//! and rows of an experiment.
//!
//! It is compiled for tests only, since it generates code for every type of every record; a user's program has the
//! stored schema.

use super::choice::by_experiment;
use super::definitions::Names;
use super::kinds::{definition, names, owner};
use super::survey::schema as of_survey;
use crate::commands::survey_record;
use harness::AnyRecord;
use record::SCHEMA;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// Returns the schema of records of any experiment.
pub fn of_all() -> Schema {
    let mut made = Made::default();
    let mut kinds = Vec::new();
    for name in names() {
        let Some(schema) = made.record(name) else { continue };
        made.generator.definitions_mut().insert(definition(name), schema.to_value());
        kinds.push((name, Schema::new_ref(format!("#/$defs/{}", definition(name)))));
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
