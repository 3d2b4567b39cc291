//! Objects whose field `experiment` says what else they have.

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

const EXPERIMENT: &str = "experiment";

/// Objects of these kinds.
///
/// Conditions, not `oneOf`: a validator then names the field that is wrong instead of saying that nothing fits.
pub fn by_experiment(kinds: &[(&str, Schema)]) -> Schema {
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
