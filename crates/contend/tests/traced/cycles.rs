//! Cycles of locks with known truth: which are possible, which are excluded and why, which are reached.

use crate::programs::{Programs, Traced, traced};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Cases that can deadlock.
const REAL: [&str; 17] = [
    "ab-ba",
    "early-late",
    "loops",
    "one-against",
    "three",
    "four",
    "leaky-gate",
    "two-gates",
    "shared-gate",
    "reader-writer",
    "crossed-readers",
    "spin-mutex",
    "bank",
    "condition-back",
    "detached",
    "after-create",
    "recursive-real",
];

/// Cases that cannot, with words of the reason; an empty one where there is no cycle.
const SAFE: [(&str, &str); 14] = [
    ("gated", "gate is held in both orders"),
    ("chain-of-one", "one thread"),
    ("one-thread", "one thread"),
    ("joined", "joined"),
    ("joined-often", "joined"),
    ("before-create", "not created yet"),
    ("handed-join", "joined"),
    ("readers", "as readers"),
    ("timed", "time limit"),
    ("tried", ""),
    ("recursive-safe", ""),
    ("ordered-bank", ""),
    ("tree", ""),
    ("replaced", ""),
];

/// Cases that another kind of wait keeps from a deadlock, which a run cannot show of all others.
const ORDERED_BY_EVENTS: [&str; 2] = ["semaphore", "condition"];

fn verdict<'a>(traced: &'a Traced, case: &str) -> (&'a Value, &'a str) {
    let rows = traced.rows("order");
    let [row] = rows[..] else { panic!("{case}: {:#}", traced.record["results"]) };
    (row, row["verdict"].as_str().unwrap())
}

#[test]
fn cycles_that_can_deadlock_are_possible() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("cycles", &[]) else { return };
    for case in REAL.into_iter().chain(ORDERED_BY_EVENTS) {
        // A run that comes to the deadlock is ended, and shows that it is one.
        let traced = traced(&programs, &["--seconds", "4"], &program, &[case]);
        if case == "condition-back" && !traced.rows("deadlock").is_empty() {
            continue;
        }
        let (row, verdict) = verdict(&traced, case);
        assert!(matches!(verdict, "possible" | "reached"), "{case}: {row:#}");
        assert!(row["locks"].as_array().unwrap().len() == row["steps"].as_array().unwrap().len(), "{row:#}");
    }
}

#[test]
fn cycles_that_cannot_deadlock_are_excluded_with_their_reason() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("cycles", &[]) else { return };
    for (case, reason) in SAFE {
        let traced = traced(&programs, &[], &program, &[case]);
        if reason.is_empty() {
            assert!(traced.rows("order").is_empty(), "{case}: {:#}", traced.record["results"]);
            continue;
        }
        let (row, verdict) = verdict(&traced, case);
        assert_eq!(verdict, "excluded", "{case}: {row:#}");
        assert!(row["reason"].as_str().unwrap().contains(reason), "{case}: {row:#}");
    }
}

#[test]
fn excluded_cycles_are_printed_with_all_only() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("cycles", &[]) else { return };
    let shown_of = |flags: &[&str], case: &str| {
        let output = crate::programs::command(flags, &program, &[case]).output().unwrap();
        String::from_utf8(output.stderr).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let shown = |flags: &[&str]| shown_of(flags, "gated");
    assert!(!shown(&["--quiet"]).contains("deadlock"));
    // Another run of the same code may have other joins.
    let joined = shown_of(&["--quiet"], "joined");
    assert!(joined.contains("Deadlock possible by the code, but not in this run"), "{joined}");
    let all = shown(&["--quiet", "--all"]);
    assert!(all.contains("Excluded deadlock") && all.contains("gate is held in both orders"), "{all}");
}

#[test]
fn cycles_that_can_deadlock_are_reached_with_both_stacks() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("cycles", &[]) else { return };
    for case in REAL {
        let traced = traced(&programs, &["--confirm", "--seconds", "10"], &program, &[case]);
        let (row, verdict) = verdict(&traced, case);
        assert_eq!(verdict, "reached", "{case}: {row:#}");
        assert!((1..=10).contains(&row["runs"].as_u64().unwrap()), "{case}: {row:#}");
        let stacks = row["stacks"].as_array().unwrap();
        assert_eq!(stacks.len(), row["steps"].as_array().unwrap().len(), "{case}: {row:#}");
        let is_named = |stack: &Value| stack["frames"].to_string().contains("cycles.c:");
        assert!(stacks.iter().all(is_named), "{case}: {row:#}");
    }
}

#[test]
fn cycles_that_cannot_deadlock_are_not_reached() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("cycles", &[]) else { return };
    for case in ORDERED_BY_EVENTS {
        let traced = traced(&programs, &["--confirm", "--runs", "6"], &program, &[case]);
        let (row, verdict) = verdict(&traced, case);
        assert_eq!((verdict, row["runs"].as_u64()), ("not_reached", Some(6)), "{case}: {row:#}");
        assert_eq!(row["seeds"].as_array().unwrap().len(), 6);
    }
    let safe = traced(&programs, &["--confirm"], &program, &["gated"]);
    let (row, verdict) = verdict(&safe, "gated");
    assert_eq!(verdict, "excluded", "{row:#}");
    assert_eq!(safe.record["parameters"]["confirmation"]["possible"], 0);
}

/// Starts a program that deadlocks, without contend.
fn stuck_program(program: &Path, words: &[&str]) -> std::process::Child {
    let child = Command::new(program).args(words).stdin(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let is_stuck = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().flatten();
        let blocked = tasks.filter(|task| {
            std::fs::read_to_string(task.path().join("syscall")).is_ok_and(|call| call.starts_with("202 "))
        });
        blocked.count() >= 2
    };
    while !is_stuck() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn process_that_was_stuck_before_is_explained_by_owners() {
    if cfg!(not(target_arch = "x86_64")) {
        return println!("skipped: needs an x86-64 CPU");
    }
    let programs = Programs::new();
    let Some(program) = programs.compiled("deadlock", &[]) else { return };
    let mut stuck = stuck_program(&program, &[]);
    let pid = stuck.id().to_string();
    let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
    contend.env("CONTEND_ARCHIVE", "").args(["trace", "--format", "json", "--seconds", "6", "--pid", &pid]);
    let output = contend.output().unwrap();
    stuck.kill().unwrap();
    stuck.wait().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("needs root") {
        return println!("skipped: needs kernel.yama.ptrace_scope 0");
    }
    assert!(output.status.success(), "{stderr}");
    let record = crate::command::read(&output.stdout);
    let rows = record["results"].as_array().unwrap();
    let deadlock = rows.iter().find(|row| row["kind"] == "deadlock").unwrap_or_else(|| panic!("{record:#}"));
    let steps = deadlock["steps"].to_string();
    for (lock, site) in [("right", "leftmost (deadlock.c:1"), ("left", "rightmost (deadlock.c:1")] {
        assert!(steps.contains(&format!("\"takes\":\"{lock}\"")) && steps.contains(site), "{deadlock:#}");
    }
    assert_eq!(deadlock["stacks"].as_array().unwrap().len(), 2);
    assert!(stderr.contains("Deadlock: "), "{stderr}");
}
