//! Records compared with the schema that the binary itself prints.

use jsonschema::Validator;
use serde_json::Value;
use std::sync::OnceLock;

/// Asserts that it is a record as `contend schema` describes them.
pub fn assert_valid(record: &Value) {
    let wrong = errors(record);
    assert!(wrong.is_empty(), "not as `contend schema` says:\n{}\n{record}", wrong.join("\n"));
}

/// Returns a validator's messages about a record, a line each.
pub fn errors(record: &Value) -> Vec<String> {
    static SCHEMA: OnceLock<Validator> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| jsonschema::draft202012::new(&printed(&[])).expect("a schema"));
    schema.iter_errors(record).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Returns the output of `contend schema`.
pub fn printed(arguments: &[&str]) -> Value {
    let output = super::contend(&[&["schema"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a schema is JSON")
}
