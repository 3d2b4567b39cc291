//! Programs whose threads fight for cache lines without waiting, and others that do not: `contend lines` and
//! `contend trace`, of a program that contend starts and of one that runs already.

use crate::command::{held, read};
use crate::programs::Programs;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Returns the findings of `contend lines`, as its report states them.
fn of_lines(record: &Value) -> Found {
    let of_line =
        |row: &&Value| ["shared_and_written", "false_sharing"].contains(&row["sharing"].as_str().unwrap_or_default());
    let total = &record["results"][0];
    let (samples, together) = (total["samples"].as_f64().unwrap_or(0.0), total["together"].as_f64().unwrap_or(0.0));
    // Other programs can have the CPUs: then the time in which both threads ran counts.
    let is_much = |row: &&Value| {
        let of_line = row["samples"].as_f64().unwrap_or(0.0);
        of_line >= 0.05 * samples || of_line >= 0.1 * together && total["ready_share"].as_f64() >= Some(0.2)
    };
    let found = |row: &Value| {
        let code = match (text(row, "sharing").as_str(), row["lock_type"].is_null()) {
            (_, false) => "lock_price",
            ("false_sharing", _) => "line_false_sharing",
            _ => "line_shared",
        };
        (code.to_owned(), text(row, "object"), text(&row["places"][0], "site"))
    };
    record["results"].as_array().unwrap().iter().filter(of_line).filter(is_much).map(found).collect()
}

fn of_trace(record: &Value) -> Found {
    let rows = record["results"].as_array().unwrap().iter().filter(|row| !row["cpu_share"].is_null());
    rows.map(|row| (text(row, "rule"), text(row, "object"), text(row, "place"))).collect()
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

/// Two threads must run at the same time, which other programs on the CPUs can prevent. Nothing wrong may be said then.
fn assert_right(answer: &Answer, mut run: impl FnMut() -> Option<(Found, bool)>) {
    let mut all = Vec::new();
    for _ in 0..4 {
        let Some((found, is_crowded)) = run() else { return };
        if is_right(&found, answer) {
            return;
        }
        all.push((found, is_crowded));
    }
    let are_unseen = all.iter().all(|(found, is_crowded)| found.is_empty() && *is_crowded);
    assert!(are_unseen, "{answer:?}: {all:#?}");
    println!("skipped: needs two CPUs that other programs leave free");
}

/// Returns whether the threads had no CPU for a fifth of the time in which they had something to run.
fn is_crowded(record: &Value) -> bool {
    let rows = record["results"].as_array().unwrap();
    let share = match rows.iter().find(|row| row["kind"] == "budget") {
        Some(row) => {
            let [ran, ready] = ["on_cpu_s", "ready_s"].map(|part| row[part].as_f64().unwrap_or(0.0));
            ready / (ran + ready)
        }
        None => rows[0]["ready_share"].as_f64().unwrap_or(0.0),
    };
    share >= 0.2
}

/// One of these programs runs at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
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
    let _alone = alone();
    let programs = Programs::new();
    let Some(program) = programs.compiled("lines", &["-O2"]).filter(|_| can_see()) else { return };
    let program = program.to_str().unwrap();
    for answer in &PROGRAMS {
        let run = || {
            record(&programs, "lines", &["--", program, answer.0])
                .map(|record| (of_lines(&record), is_crowded(&record)))
        };
        assert_right(answer, run);
    }
}

#[test]
fn trace_names_contention_without_waiting() {
    let _alone = alone();
    let programs = Programs::new();
    let Some(program) = programs.compiled("lines", &["-O1"]).filter(|_| can_see()) else { return };
    let program = program.to_str().unwrap();
    for answer in &PROGRAMS {
        let run = || {
            let record = record(&programs, "trace", &["--", program, answer.0])?;
            let found = of_trace(&record);
            assert_eq!(record["parameters"]["verdict"] == "contention", !found.is_empty(), "{found:?}");
            Some((found, is_crowded(&record)))
        };
        assert_right(answer, run);
    }
}

#[test]
fn lines_of_a_running_process_are_named() {
    let _alone = alone();
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
                record.map(|record| (read(&record), is_crowded(&record)))
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
fn count_of_references_is_a_shared_word() {
    let _alone = alone();
    let programs = Programs::new();
    let Some(program) = compiled_config(&programs).filter(|_| can_see()) else { return };
    let answer = ("config", Some(("line_shared", "heap object", "handle")));
    let program = program.to_str().unwrap();
    for (command, read) in [("lines", of_lines as fn(&Value) -> Found), ("trace", of_trace)] {
        let run = || record(&programs, command, &["--", program]).map(|record| (read(&record), is_crowded(&record)));
        assert_right(&answer, run);
    }
}
