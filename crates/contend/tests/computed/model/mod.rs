//! The models of frames, steps and locks through their binary.

mod both;
mod frames;
mod locks;
mod step;

use crate::command::{contend, results};
use serde_json::Value;
use std::path::PathBuf;

/// A trace in its own file, removed with the directory.
struct Trace {
    folder: tempfile::TempDir,
}

impl Trace {
    fn of(text: impl AsRef<[u8]>) -> Self {
        let trace = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::write(trace.path(), text).unwrap();
        trace
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("trace")
    }

    /// Returns the call of `contend model step` with it.
    fn step<'a>(&'a self, arguments: &[&'a str]) -> Vec<String> {
        let own = ["model", "step", "--trace", self.path().to_str().unwrap()].map(str::to_owned);
        own.into_iter().chain(arguments.iter().map(|argument| (*argument).to_owned())).collect()
    }
}

/// Returns a trace with a gap of 1 ms once a second, for `seconds`.
fn once_a_second(seconds: u64) -> Trace {
    let gaps: String = (0..seconds).map(|second| format!("{} 1000000\n", second * 1_000_000_000 + 500_000)).collect();
    Trace::of(format!("# span_ns {}\n{gaps}", seconds * 1_000_000_000))
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

fn figures<'a>(record: &'a Value, figure: &'a str, quantum_us: f64) -> Vec<&'a Value> {
    let wanted = |row: &&Value| row["figure"] == figure && row["quantum_us"] == quantum_us;
    results(record).iter().filter(wanted).collect()
}

/// Returns the exit status and the text on stderr; stdout must stay empty.
fn refused(arguments: &[&str]) -> (i32, String) {
    let output = contend(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?} printed something");
    (output.status.code().expect("it ends by itself"), String::from_utf8(output.stderr).unwrap())
}
