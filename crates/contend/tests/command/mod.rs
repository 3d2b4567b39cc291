//! Runs the real binary.

// Each test program uses its own part of this.
#![allow(dead_code)]

pub mod archive;
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
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON object")
}

/// The rows of a record.
pub fn results(record: &Value) -> &[Value] {
    record["results"].as_array().expect("results are an array")
}
