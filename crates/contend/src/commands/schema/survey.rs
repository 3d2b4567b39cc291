//! The parameters and rows of a survey: those of its experiments, and its own.

use super::choice::by_experiment;
use crate::commands::survey_record::{FINDINGS, Parameters, THEN_AND_NOW, key};
use record::{Finding, ThenAndNow};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::json;

pub fn schema(generator: &mut SchemaGenerator) -> [Schema; 2] {
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
