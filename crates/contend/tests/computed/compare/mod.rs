//! `contend compare` through its binary. Where a verdict is asserted, the values are written by the test.

mod archive;
mod sides;
mod verdicts;

use crate::command::contend;
use crate::command::stored::uncontended;
use serde_json::{Value, json};
use std::process::Output;
use tempfile::TempDir;

/// Returns a run with these medians, in ns, each with an interval of half a per cent to both sides.
fn latency(lock_ns: f64, round_trip_ns: f64) -> Value {
    let mut record = uncontended();
    record["warnings"] = json!([]);
    for row in record["results"].as_array_mut().unwrap() {
        let median = if row["operation"] == "lock" { lock_ns } else { round_trip_ns };
        row["p50_ns"] = json!(median);
        row["p50_ci_ns"] = json!([median * 0.995, median * 1.005]);
        row["p999_ns"] = json!(median * 10.0);
        row["p999_ci_ns"] = json!([median * 9.0, median * 11.0]);
        row["bare_pair_ns"] = json!(20.0);
        row["bare_pair_ci_ns"] = json!([19.9, 20.1]);
        row["resolution_ns"] = json!(1.0);
    }
    // Runs of the same are not the same run.
    record["environment"]["seed"] = json!((lock_ns * 1e3 + round_trip_ns * 1e6) as u64);
    record
}

fn files(records: &[&Value]) -> (TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let file = |(place, record): (usize, &&Value)| {
        let path = folder.path().join(format!("{place}.json"));
        std::fs::write(&path, record.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let paths = records.iter().enumerate().map(file).collect();
    (folder, paths)
}

fn compared(a: &Value, b: &Value, flags: &[&str]) -> Output {
    let (_folder, paths) = files(&[a, b]);
    contend(&[&["compare", &paths[0], &paths[1]], flags].concat())
}

fn text(a: &Value, b: &Value) -> String {
    let output = compared(a, b, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn answer(a: &Value, b: &Value) -> Value {
    let output = compared(a, b, &["--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn line<'a>(answer: &'a Value, figure: &str) -> &'a Value {
    let line = answer["cells"].as_array().unwrap().iter().find(|line| line["figure"] == figure);
    line.unwrap_or_else(|| panic!("{figure} in {answer}"))
}

fn verdict<'a>(answer: &'a Value, figure: &str) -> &'a str {
    line(answer, figure)["verdict"].as_str().unwrap()
}
