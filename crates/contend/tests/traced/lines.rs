//! Programs whose threads fight for cache lines without waiting, and others that do not: `contend lines` and
//! `contend trace`, of a program that contend starts and of one that runs already.

use crate::command::{held, read};
use crate::programs::Programs;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program's answer: the code of its finding, the variable in the line, and a function that uses it; none for healthy ones.
type Answer = (&'static str, Option<(&'static str, &'static str, &'static str)>);

const PROGRAMS: [Answer; 8] = [
    ("beside", Some(("line_false_sharing", "beside", "count_beside"))),
    ("apart", None),
    ("counter", Some(("line_shared", "served", "count_served"))),
    ("own", None),
    ("reader", Some(("line_shared", "level", "follow_level"))),
    ("readers", Some(("lock_price", "routes_lock", "route"))),
    ("turns", None),
    ("computes", None),
];

/// The code, the object and the place of each finding about lines.
type Found = Vec<(String, String, String)>;

/// Runs a command of contend; `None` where the kernel refuses samples.
fn record(programs: &Programs, command: &str, rest: &[&str]) -> Option<Value> {
    held::reports();
    let file = programs.path("lines.json");
    let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
    contend.env("CONTEND_ARCHIVE", "").args([command, "--format", "json", "--output"]).arg(&file).args(rest);
    let output = contend.stdin(Stdio::null()).stdout(Stdio::null()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("the kernel refused samples") {
        println!("skipped: needs perf_event_open");
        return None;
    }
    assert!(output.status.success(), "{stderr}");
    Some(read(&std::fs::read(file).unwrap()))
}

fn text(row: &Value, field: &str) -> String {
    row[field].as_str().unwrap_or_default().to_owned()
}

/// Returns the findings of `contend lines`, by the rows that they are made of: a twentieth of the CPU time.
fn of_lines(record: &Value) -> Found {
    let contended = |row: &&Value| {
        let is_much = row["cpu_share_ci"]["low"].as_f64().or(row["cpu_share_ci"][0].as_f64()) >= Some(0.05);
        is_much && ["shared_and_written", "false_sharing"].contains(&row["sharing"].as_str().unwrap_or_default())
    };
    let found = |row: &Value| {
        let code = match (text(row, "sharing").as_str(), row["lock_type"].is_null()) {
            (_, false) => "lock_price",
            ("false_sharing", _) => "line_false_sharing",
            _ => "line_shared",
        };
        (code.to_owned(), text(row, "object"), text(&row["places"][0], "site"))
    };
    record["results"].as_array().unwrap().iter().filter(contended).map(found).collect()
}

fn of_trace(record: &Value) -> Found {
    let rows = record["results"].as_array().unwrap().iter().filter(|row| !row["code"].is_null());
    rows.map(|row| (text(row, "code"), text(row, "object"), text(row, "place"))).collect()
}

fn is_right(found: &Found, answer: &Answer) -> bool {
    match (answer.1, found.first()) {
        (None, first) => first.is_none(),
        (Some((code, object, place)), Some(first)) => {
            first.0 == code && first.1.contains(object) && first.2.contains(place)
        }
        (Some(_), None) => false,
    }
}

/// Two threads must run at the same time, which other programs on the CPUs prevent; not in each of several runs.
fn assert_right(answer: &Answer, mut run: impl FnMut() -> Option<Found>) {
    let mut all = Vec::new();
    for _ in 0..4 {
        let Some(found) = run() else { return };
        if is_right(&found, answer) {
            return;
        }
        all.push(found);
    }
    panic!("{answer:?}: {all:#?}");
}

fn can_see() -> bool {
    let can = cfg!(target_arch = "x86_64") && std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    if !can {
        println!("skipped: needs two x86-64 CPUs");
    }
    can
}

#[test]
fn lines_that_threads_fight_for_are_named_and_others_are_not() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("lines", &["-O2"]).filter(|_| can_see()) else { return };
    let program = program.to_str().unwrap();
    for answer in &PROGRAMS {
        let run = || Some(of_lines(&record(&programs, "lines", &["--", program, answer.0])?));
        assert_right(answer, run);
    }
}

#[test]
fn trace_names_contention_without_waiting() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("lines", &["-O1"]).filter(|_| can_see()) else { return };
    let program = program.to_str().unwrap();
    for answer in &PROGRAMS {
        let run = || {
            let record = record(&programs, "trace", &["--", program, answer.0])?;
            let found = of_trace(&record);
            assert_eq!(record["parameters"]["verdict"] == "contention", !found.is_empty(), "{found:?}");
            Some(found)
        };
        assert_right(answer, run);
    }
}

#[test]
fn lines_of_a_running_process_are_named() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("lines", &["-O0"]).filter(|_| can_see()) else { return };
    for (command, read) in [("lines", of_lines as fn(&Value) -> Found), ("trace", of_trace)] {
        for answer in PROGRAMS.iter().filter(|answer| ["beside", "own", "readers"].contains(&answer.0)) {
            let run = || {
                let mut process = Command::new(&program).args([answer.0, "60"]).stdin(Stdio::null()).spawn().unwrap();
                let pid = process.id().to_string();
                let record = record(&programs, command, &["--seconds", "1.5", "--pid", &pid]);
                process.kill().unwrap();
                process.wait().unwrap();
                Some(read(&record?))
            };
            assert_right(answer, run);
        }
    }
}

fn compiled_config(programs: &Programs) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace/config.cpp");
    let program = programs.path("config");
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++17", "-g", "-O2", "-pthread", "-o"]).arg(&program).arg(source);
    let is_compiled = compiler.output().is_ok_and(|output| output.status.success());
    if !is_compiled {
        println!("skipped: needs c++");
    }
    is_compiled.then_some(program)
}

#[test]
fn count_of_references_is_a_shared_word_in_the_function_that_copies() {
    let programs = Programs::new();
    let Some(program) = compiled_config(&programs).filter(|_| can_see()) else { return };
    let answer = ("config", Some(("line_shared", "heap object", "handle")));
    let program = program.to_str().unwrap();
    assert_right(&answer, || Some(of_trace(&record(&programs, "trace", &["--", program])?)));
    assert_right(&answer, || Some(of_lines(&record(&programs, "lines", &["--", program])?)));
}
