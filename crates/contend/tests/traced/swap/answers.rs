//! The verdict on each lock: the comparison of metrics, limits, and the lock with which the program fails.

use super::{row, stderr};
use crate::programs::{Programs, command as trace, traced};
use std::path::Path;
use std::process::Command;

/// The program says which lock it was given, and twice as much of something with one of them: so the answer is known.
#[test]
fn metric_that_one_lock_doubles_is_better_with_it_only() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let flags = ["--swap", "calock,ticket", "--metric", r"rate=rate (\d+)", "--higher-is-better", "--runs", "6"];
    let flags = [&flags[..], &["--warmup", "0", "--quiet"]].concat();
    let traced = traced(&programs, &flags, &program, &[]);
    assert_eq!(traced.output.status.code(), Some(0), "{}", stderr(&traced.output));
    let calock = row(&traced, "calock", "rate");
    assert_eq!((calock["ratio"].as_f64(), calock["verdict"].as_str()), (Some(2.0), Some("better")));
    assert_eq!(calock["ratio_ci"][0], 2.0);
    for lock in ["pass", "ticket"] {
        assert_eq!(row(&traced, lock, "rate")["verdict"], "no_difference_shown", "{lock}");
    }
    assert_eq!(row(&traced, "plain", "rate")["verdict"], "baseline");
    for metric in ["rate", "wall time", "CPU time"] {
        for lock in ["plain", "pass", "calock", "ticket"] {
            let row = row(&traced, lock, metric);
            assert_eq!((row["runs"].as_u64(), row["values"].as_array().unwrap().len()), (Some(6), 6), "{row}");
        }
    }
    // What each run was, in which order, and what could not be exchanged.
    let parameters = &traced.record["parameters"];
    // Pass and two locks, in three metrics.
    assert_eq!((parameters["comparisons"].as_u64(), parameters["least_effect_share"].as_f64()), (Some(9), Some(0.02)));
    let order = parameters["order"].as_array().unwrap();
    assert_eq!(order.len(), 6);
    assert!(order.iter().all(|round| round.as_array().unwrap().len() == 4), "{order:?}");
    let left = &traced.record["parameters"]["left"][1];
    assert_eq!(
        (left["lock"].as_str(), left["processes"].as_u64(), left["robust"].as_u64()),
        (Some("calock"), Some(6), Some(6))
    );
}

#[test]
fn what_is_worse_by_more_than_a_limit_is_said_and_ends_with_3() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let flags = ["--swap", "calock", "--metric", r"rate=rate (\d+)", "--runs", "6", "--warmup", "0"];
    let output = trace(&[&flags[..], &["--fail-if", "slower:5%"]].concat(), &program, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("--fail-if slower:5%: calock: rate 2.00× that of the plain program"),
        "{}",
        stderr(&output)
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("worse") && text.contains("calock"), "{text}");
    assert!(text.contains("6 robust mutexes"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80 || line.contains("answers")), "{text}");
}

#[test]
fn prepare_and_cleanup_run_once_per_program_run() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let (before, after) = (programs.path("before"), programs.path("after"));
    let echo = |path: &Path| format!("echo x >> {}", path.display());
    let flags = ["--swap", "adaptive", "--runs", "6", "--warmup", "2", "--quiet"];
    let (prepare, cleanup) = (echo(&before), echo(&after));
    let output = trace(&[&flags[..], &["--prepare", &prepare, "--cleanup", &cleanup]].concat(), &program, &[]);
    let output = { output }.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    // Two watched runs, a trial, then plain, pass and one lock.
    for path in [before, after] {
        assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 2 + 1 + 3 * (6 + 2));
    }
}

#[test]
fn program_that_fails_with_one_lock_is_compared_with_others() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let traced = traced(&programs, &["--swap", "calock,mcs", "--runs", "6", "--warmup", "0"], &program, &["mcs"]);
    assert_eq!(traced.output.status.code(), Some(1));
    let said = stderr(&traced.output);
    assert!(said.contains("with mcs, the program ended with status 7"), "{said}");
    assert_eq!(row(&traced, "mcs", "wall time")["verdict"], "failed");
    assert_eq!(row(&traced, "calock", "wall time")["runs"], 6);
    let codes: Vec<&str> =
        traced.record["warnings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"failed_with_lock") && codes.contains(&"spinning_lock"), "{codes:?}");
}

/// Checks the library as a product: written where its user says, and loaded without contend.
#[test]
fn the_library_is_written_and_works_alone() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let library = programs.path("libulocks_pthread.so");
    let output =
        Command::new(env!("CARGO_BIN_EXE_contend")).args(["trace", "--swap-library"]).arg(&library).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let output = Command::new(program).env("LD_PRELOAD", &library).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
}
