//! Two runs with the same flags have the same parameters.

use crate::command::{contend, record};
use serde_json::{Value, json};
use std::fs;

/// A run of every experiment, long enough for a result on a busy machine.
const CALLS: [&[&str]; 8] = [
    &["clock", "--seconds", "1"],
    &["latency", "--lock", "std", "--threads", "2", "--seconds", "3"],
    &["throughput", "--lock", "std", "--children", "2", "--hold", "3us", "--nonhold", "7us", "--run", "20ms"],
    &["noise", "--scenario", "quiet", "--seconds", "2"],
    &["load", "--seconds", "0.5"],
    &["ring", "--contestant", "rust-fifo", "--seconds", "0.1", "--large", "0", "--no-memory"],
    &["core", "--seconds", "3"],
    &["model", "frames"],
];

#[test]
fn runs_with_the_same_flags_have_the_same_parameters() {
    // All at the same time: the values do not matter.
    let measured = || -> Vec<Value> {
        std::thread::scope(|scope| {
            let runs: Vec<_> = CALLS.iter().map(|call| scope.spawn(|| record(call))).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        })
    };
    let folder = tempfile::tempdir().unwrap();
    let files = ["a.json", "b.json"].map(|name| folder.path().join(name));
    let [a, b] = files.each_ref().map(|file| file.to_str().unwrap());
    for (call, (one, other)) in CALLS.iter().zip(measured().into_iter().zip(measured())) {
        fs::write(a, one.to_string()).unwrap();
        fs::write(b, other.to_string()).unwrap();
        let output = contend(&["compare", a, b, "--format", "json"]);
        assert!(output.status.success(), "{call:?}: {}", String::from_utf8_lossy(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["parameters"], json!([]), "{call:?}");
    }
}
