//! Runs the real binary.

// Each test program uses its own part of this.
#![allow(dead_code)]

pub mod archive;
pub mod schema;
pub mod stored;
pub mod watched;

use serde_json::Value;
use std::process::{Command, Output};

/// `contend` with these arguments, waited for.
pub fn contend(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_contend"))
        .env("CONTEND_ARCHIVE", "")
        .args(arguments)
        .output()
        .expect("the binary starts")
}

/// The record that a measurement with `--format json` prints; it must end well.
pub fn record(arguments: &[&str]) -> Value {
    let output = contend(&[arguments, &["--format", "json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {:?}\n{stderr}", output.status);
    read(&output.stdout)
}

/// The record that these bytes are: every record that a test reads comes through here, and is held against the schema.
pub fn read(bytes: &[u8]) -> Value {
    let said = || format!("no record: {}", String::from_utf8_lossy(bytes));
    let record = serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{error}: {}", said()));
    schema::assert_valid(&record);
    record
}

/// The rows of a record.
pub fn results(record: &Value) -> &[Value] {
    record["results"].as_array().expect("results are an array")
}
