//! Waits and holds of the locks, watched with each substitute.

use super::stderr;
use crate::programs::{Programs, traced};

/// The library that watches comes before the one that exchanges: both must find the same condition variables behind
/// them as the program's mutexes have.
#[test]
fn a_program_with_condition_variables_is_watched_with_each_lock() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("turns", &[]) else { return };
    let flags = ["--swap", "adaptive,usema", "--runs", "6", "--warmup", "0", "--quiet"];
    let traced = traced(&programs, &flags, &program, &[]);
    assert!(traced.output.status.success(), "{}", stderr(&traced.output));
    let parameters = &traced.record["parameters"];
    let watched = parameters["watched"].as_array().unwrap();
    for lock in ["plain", "adaptive", "usema"] {
        assert!(watched.iter().any(|one| one["lock"] == lock && one["name"] == "lock"), "{lock} in {parameters:#}");
    }
}

/// A program with more locks than contend keeps apart.
#[test]
fn a_program_with_very_many_locks_is_watched_without_losses() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("many", &[]) else { return };
    let flags = ["--swap", "adaptive", "--runs", "6", "--warmup", "0", "--quiet"];
    let traced = traced(&programs, &flags, &program, &["100000"]);
    assert!(traced.output.status.success(), "{}", stderr(&traced.output));
    let warnings = traced.record["warnings"].to_string();
    assert!(!warnings.contains("trace_lost"), "{warnings}");
}

/// Checks the waits and holds of the locks, before and after.
#[test]
fn waits_and_holds_are_known_plain_and_with_each_lock() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    // Not a lock that only spins: where others have the CPUs, its waiters may wait for a time slice at each release.
    let flags = ["--swap", "adaptive,usema", "--runs", "6", "--warmup", "0", "--quiet"];
    let traced = traced(&programs, &flags, &program, &[]);
    assert!(traced.output.status.success(), "{}", stderr(&traced.output));
    let watched = traced.record["parameters"]["watched"].as_array().unwrap();
    let of = |lock: &str| {
        let found = watched.iter().find(|one| one["lock"] == lock && one["name"] == "lock");
        found.unwrap_or_else(|| panic!("{lock} in {watched:#?}"))
    };
    for lock in ["plain", "adaptive", "usema"] {
        assert_eq!(of(lock)["acquisitions"], 8000, "{lock}");
        assert!(of(lock)["hold_p50_ns"].as_f64().is_some_and(|hold| hold > 0.0), "{lock}");
    }
}

/// Three threads wait for a holder that sleeps: whatever lock it has, that is as long.
#[test]
fn a_sleep_that_no_lock_can_shorten_is_said_beside_the_verdict() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("sections", &[]) else { return };
    let flags = ["--swap", "adaptive", "--runs", "6", "--warmup", "0", "--quiet"];
    // A thread is followed only after some ms.
    let arguments = ["sleep", "limits", "40", "3000", "100"];
    let record = traced(&programs, &flags, &program, &arguments).record;
    let watched = record["parameters"]["watched"].as_array().unwrap();
    let first = watched.iter().find(|one| one["lock"] == "plain" && one["name"] == "first").unwrap();
    if first["holder_slept_share"].is_null() {
        return println!("skipped: needs perf_event_open");
    }
    let warnings = record["warnings"].as_array().unwrap();
    let said = warnings.iter().find(|warning| warning["code"] == "sleeping_holder");
    let said = said.unwrap_or_else(|| panic!("{first} {warnings:#?}"));
    assert!(said["message"].as_str().unwrap().contains("first: its holder slept"), "{said}");
    assert!(said["message"].as_str().unwrap().contains("section (sections.c:"), "{said}");
}
