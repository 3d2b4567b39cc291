//! Statements that are said of what they are true of: of a group of locks, of programs without futex calls or without locks,
//! of programs in other PID namespaces.

use crate::programs::{Programs, command, traced};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn locks_that_are_not_kept_apart_are_no_finding() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("requests", &[]) else { return };
    let traced = traced(&programs, &["--quiet"], &program, &["20000"]);
    let groups: Vec<&Value> = traced.rows("lock").into_iter().filter(|row| row["folded"] == true).collect();
    assert!(!groups.is_empty(), "{:#}", traced.record["results"]);
    for row in &groups {
        assert!(row["lock"].as_str().unwrap().starts_with("other locks of "), "{row}");
    }
    let of_waiter = |row: &&&Value| row["symbol"] == "waiter";
    let group = groups.iter().find(of_waiter).expect("the waiter acquires more locks than have places");
    for finding in traced.rows("finding") {
        assert_ne!(finding["object"], group["lock"], "{finding}");
        let cause = finding["cause"].as_str().unwrap();
        assert!(!cause.contains("such locks has"), "no lock is waited for more than once: {cause}");
    }
}

#[test]
fn process_without_futex_calls_has_none_in_windows() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("naps", &[]) else { return };
    let mut process = Command::new(&program).arg("20").spawn().unwrap();
    let pid = process.id().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_contend"))
        .env("CONTEND_ARCHIVE", "")
        .args(["trace", "--pid", &pid, "--seconds", "2", "--format", "json"])
        .output()
        .unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let record = crate::command::read(&output.stdout);
    assert!(!record["warnings"].to_string().contains("futex"), "{}", record["warnings"]);
}

/// One traced run shows that nothing can be substituted or shorter, and no other run follows.
#[test]
fn program_without_locks_is_refused_by_modes_that_change_them() {
    let programs = Programs::new();
    for flags in [&["--swap", "adaptive"][..], &["--swap", "adaptive", "--search"], &["--what-if"]] {
        let record = programs.path("record");
        let flags = [flags, &["--format", "json", "--output", record.to_str().unwrap()]].concat();
        let output = command(&flags, Path::new("sleep"), &["0.2"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{flags:?}: {stderr}");
        assert!(stderr.contains("used none of the C library's locks"), "{flags:?}: {stderr}");
        assert!(!record.exists() || std::fs::read(&record).unwrap().is_empty(), "{flags:?}");
    }
}

/// The program is process 1 there, and has the number of another process here.
#[test]
fn program_in_a_pid_namespace_has_threads_and_locks_once() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("fivefold", &[]) else { return };
    for mounts in [&[] as &[&str], &["--mount-proc"]] {
        let unshare = [&["--pid", "--fork"][..], mounts].concat();
        let is_able = Command::new("unshare").args(&unshare).arg("true").stderr(Stdio::null()).status();
        if !is_able.is_ok_and(|status| status.success()) {
            return println!("skipped: needs unshare and CAP_SYS_ADMIN");
        }
        let words = [&unshare[..], &[program.to_str().unwrap(), "3"]].concat();
        let traced = traced(&programs, &["--quiet"], Path::new("unshare"), &words);
        let locks: Vec<&Value> = traced.rows("lock").into_iter().filter(|row| row["lock"] == "only_lock").collect();
        let [lock] = locks[..] else { panic!("{mounts:?}: {:#}", traced.record["results"]) };
        assert!(lock["contended"].as_u64() > Some(20), "{mounts:?}: {lock}");
        let budgets = traced.rows("budget");
        let whole = budgets.iter().find(|row| row["group"].is_null() && row["thread"].is_null()).unwrap();
        // Five that wait for the lock, the one that joins them, and that of unshare.
        assert_eq!(whole["threads"], 7, "{mounts:?}: {budgets:#?}");
    }
}
