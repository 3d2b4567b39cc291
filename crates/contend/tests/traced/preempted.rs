//! `contend preempted` on a program that counts its own preempted holds.

use crate::command::{held, read};
use crate::programs::Programs;
use serde_json::Value;
use std::collections::HashMap;
use std::process::{Command, Stdio};

/// The program's own account, and the record of the run.
fn run(programs: &Programs, arguments: &[&str]) -> Option<(HashMap<String, f64>, Value)> {
    let program = programs.compiled("preempted", &["-O2"])?;
    held::reports();
    let file = programs.path("preempted.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env("CONTEND_ARCHIVE", "").args(["preempted", "--format", "json", "--output"]).arg(&file).arg("--");
    let output = command.arg(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    let account = words.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].parse().unwrap()));
    Some((account.collect(), read(&std::fs::read(file).unwrap())))
}

/// Other programs preempt the holders too, which both count.
#[test]
fn preempted_holds_equal_the_account_of_the_program() {
    let programs = Programs::new();
    let Some((account, record)) = run(&programs, &["100", "0.8", "2", "0.5"]) else { return };
    let (parameters, total) = (&record["parameters"], &record["results"][0]);
    if parameters["switches"].is_null() {
        return println!("skipped: needs perf_event_open");
    }
    assert_eq!((&total["kind"], &record["results"][1]["lock"]), (&"total".into(), &"lock".into()));
    let known = |name: &str| parameters[name].as_f64().unwrap_or(0.0);
    // On a machine that switches very often, the record is open for a part of the time only.
    if known("switches_share") < 0.99 || known("holds_known_share") < 0.95 {
        return println!("skipped: switches are known for a part of the run");
    }
    let near = |field: &str, factor: f64, truth: &str| {
        let (seen, truth) = (total[field].as_f64().unwrap_or(0.0) * factor, account[truth]);
        assert!((seen - truth).abs() <= 0.2 * truth + 10.0, "{field}: {seen}, {truth} by {account:?}");
    };
    near("times", 1.0, "preempted");
    near("kept_s", 1e3, "kept_ms");
    near("waited_share", 100.0, "waited_percent");
    near("covered_by_50us", 100.0, "within_50us_percent");
}

/// Two threads hold the lock for 2 ms of CPU time each, on one CPU with a competitor that always computes: every hold that
/// another thread waits for is preempted, by the competitor or by another program.
#[test]
fn preempted_holds_of_a_running_process_are_counted() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("preempted", &["-O2"]) else { return };
    let file = programs.path("attached.json");
    let mut command = Command::new(program);
    let mut process = command.args(["2000", "30", "2", "1"]).stdout(Stdio::null()).spawn().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env("CONTEND_ARCHIVE", "").args(["preempted", "--seconds", "2", "--format", "json", "--output"]).arg(&file);
    let output = command.arg("--pid").arg(process.id().to_string()).stdin(Stdio::null()).output().unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    if message.contains("needs root") {
        return println!("skipped: needs root and a tracefs");
    }
    assert!(output.status.success(), "{message}");
    let record = read(&std::fs::read(file).unwrap());
    let rows = record["results"].as_array().unwrap();
    let number = |row: &Value, field: &str| row[field].as_f64().unwrap_or(0.0);
    let lock = rows.iter().find(|row| row["kind"] == "preempted" && row["lock"] == "lock");
    let lock = lock.unwrap_or_else(|| panic!("{rows:?}"));
    assert!(number(lock, "times") > 0.0 && number(lock, "kept_s") > 0.0, "{lock}");
    assert!(lock["site"].as_str().unwrap().starts_with("work (preempted.c:"), "{lock}");
    let by: f64 = lock["by"].as_array().unwrap().iter().map(|competitor| number(competitor, "share")).sum();
    assert!(by > 0.0 && by < 1.001, "{lock}");
    assert_eq!(record["parameters"]["attached_pid"], process.id());
}
