//! Runs of the real binary.

// Each test program uses its own part of this.
#![allow(dead_code)]

pub mod archive;
pub mod browser;
pub mod cpuset;
pub mod forge;
pub mod heard;
pub mod held;
pub mod hostile;
pub mod mutation;
pub mod objects;
pub mod place;
pub mod report;
pub mod schema;
pub mod screen;
pub mod stored;
pub mod terminal;
pub mod typed;
pub mod watched;

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Writes a program or a script, as another process: while a file is open for writing it cannot be executed, and a child
/// that another test starts just then would keep it open.
pub fn executable(path: &Path, contents: impl AsRef<[u8]>) {
    let mut writer = Command::new("sh");
    writer.args(["-c", "cat >\"$1\" && chmod 755 \"$1\"", "sh"]).arg(path).stdin(Stdio::piped());
    let mut writer = writer.spawn().expect("a shell");
    writer.stdin.take().unwrap().write_all(contents.as_ref()).unwrap();
    assert!(writer.wait().unwrap().success(), "{}", path.display());
}

/// A run of this length has a result on any machine.
const LONG_ENOUGH_S: f64 = 60.0;

/// Runs `contend` with these arguments to its end.
///
/// A record that it prints is checked with the schema.
///
/// The tests measure for parts of a second. If other programs use the CPUs, a run may be too short for any result;
/// `contend` then reports that with the remedy, which is applied here.
pub fn contend(arguments: &[&str]) -> Output {
    held::reports();
    let mut arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
    let output = loop {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        let output = command.env("CONTEND_ARCHIVE", "").args(&arguments).output().expect("the binary starts");
        if !lengthened(&mut arguments, &String::from_utf8_lossy(&output.stderr)) {
            break output;
        }
    };
    if output.stdout.starts_with(b"{\"schema\":\"contend/") {
        read(&output.stdout);
    }
    output
}

/// Makes a run longer whose output says that it was too short for any result; returns whether it did.
pub fn lengthened(arguments: &mut [String], stderr: &str) -> bool {
    let is_too_short = stderr.contains("nothing was measured; use a longer --seconds");
    let value = arguments.iter().position(|argument| argument == "--seconds").map(|place| &mut arguments[place + 1]);
    match value.map(|value| (value.parse::<f64>(), value)) {
        Some((Ok(seconds), value)) if is_too_short && seconds < LONG_ENOUGH_S => {
            *value = (4.0 * seconds).to_string();
            true
        }
        _ => false,
    }
}

/// Returns the record that a measurement with `--format json` prints; it must succeed.
pub fn record(arguments: &[&str]) -> Value {
    let output = contend(&[arguments, &["--format", "json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {:?}\n{stderr}", output.status);
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON object")
}

/// Returns the record of a measurement that several tests of a program read.
///
/// The first of them runs it; the others wait for it.
pub fn shared(arguments: &[&str]) -> &'static Value {
    static RECORDS: Mutex<BTreeMap<String, &OnceLock<Value>>> = Mutex::new(BTreeMap::new());
    let mut records = RECORDS.lock().unwrap_or_else(PoisonError::into_inner);
    let cell = *records.entry(arguments.join(" ")).or_insert_with(|| Box::leak(Box::default()));
    drop(records);
    cell.get_or_init(|| record(arguments))
}

/// Parses the record in these bytes, and checks it with the schema.
///
/// Every record that a test reads itself is read here.
pub fn read(bytes: &[u8]) -> Value {
    let description = || format!("no record: {}", String::from_utf8_lossy(bytes));
    let record = serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{error}: {}", description()));
    schema::assert_valid(&record);
    record
}

/// Returns the rows of a record.
pub fn results(record: &Value) -> &[Value] {
    record["results"].as_array().expect("results are an array")
}
