//! Tests of `contend load` through its binary.

mod ends;
mod figures;
mod metrics;
mod priority;
mod terminal;
mod views;

use crate::command::results;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const SHARES: [&str; 5] = ["load_share", "cputime_share", "grind_share", "lost_inside_share", "proc_stat_share"];

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

fn rows<'a>(record: &'a Value, measurement: &'a str) -> Vec<&'a Value> {
    results(record).iter().filter(|row| row["measurement"] == measurement).collect()
}

fn warnings(record: &Value) -> Vec<&str> {
    record["warnings"].as_array().unwrap().iter().filter_map(|warning| warning["code"].as_str()).collect()
}

pub fn first_cpu() -> String {
    instruments::cpus::allowed().unwrap().first().unwrap().to_string()
}

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_contend"))
        .env("CONTEND_ARCHIVE", "")
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts")
}

/// Starts a run, and returns when it has printed a line, so that it measures.
fn measuring(arguments: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = start(arguments);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        lines.read_line(&mut String::new()).unwrap();
    }
    (child, lines)
}

fn signal(child: &Child, signal: Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).expect("the child still runs");
}
