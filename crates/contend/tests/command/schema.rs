//! Records compared with the schema that the binary itself prints.

use jsonschema::Validator;
use serde_json::Value;
use std::sync::OnceLock;

/// That it is a record as `contend schema` describes them.
pub fn assert_valid(record: &Value) {
    let wrong = errors(record);
    assert!(wrong.is_empty(), "not as `contend schema` says:\n{}\n{record}", wrong.join("\n"));
}

/// What a validator says of a record, a line for each thing.
pub fn errors(record: &Value) -> Vec<String> {
    static SCHEMA: OnceLock<Validator> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| jsonschema::draft202012::new(&printed(&[])).expect("a schema"));
    schema.iter_errors(record).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// What `contend schema` prints.
pub fn printed(arguments: &[&str]) -> Value {
    let output = super::contend(&[&["schema"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a schema is JSON")
}
