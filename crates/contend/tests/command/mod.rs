//! Runs the real binary.

// Each test program uses its own part of this.
#![allow(dead_code)]

pub mod archive;
pub mod cpuset;
pub mod heard;
pub mod held;
pub mod hostile;
pub mod mutation;
pub mod objects;
pub mod place;
pub mod schema;
pub mod stored;
pub mod terminal;
pub mod typed;
pub mod watched;

use serde_json::Value;
use std::process::{Command, Output};

/// `contend` with these arguments, waited for. A record that it prints is held against the schema.
pub fn contend(arguments: &[&str]) -> Output {
    held::reports();
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    let output = command.env("CONTEND_ARCHIVE", "").args(arguments).output().expect("the binary starts");
    if output.stdout.starts_with(b"{\"schema\":\"contend/") {
        read(&output.stdout);
    }
    output
}

/// The record that a measurement with `--format json` prints; it must end well.
pub fn record(arguments: &[&str]) -> Value {
    let output = contend(&[arguments, &["--format", "json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {:?}\n{stderr}", output.status);
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON object")
}

/// The record that these bytes are, held against the schema; every record that a test reads itself comes through here.
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
