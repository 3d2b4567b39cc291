//! Objects whose field `experiment` determines their other fields.

use schemars::{Schema, json_schema};
use serde_json::{Value, json};

const EXPERIMENT: &str = "experiment";

/// Returns a schema of objects of these kinds.
///
/// It has conditions, not `oneOf`: a validator then names the wrong field instead of reporting that nothing fits.
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
