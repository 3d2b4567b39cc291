//! Errors that the user can make.

use super::stderr;
use crate::programs::{Programs, command as trace};
use std::path::Path;

/// Checks that each error has one message, with the problem and a remedy.
#[test]
fn what_is_wrong_with_a_metric_or_a_program_is_said() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["--metric", "nonesuch"], &[], &["--metric nonesuch: no match", "unmodified program"]),
        (&["--metric", "r"], &[], &["--metric r: 2 matches in one run"]),
        (&["--metric", "(rate) "], &[], &["\"rate\" is not a number"]),
        (&["--prepare", "false"], &[], &["--prepare false", "exit status: 1"]),
        (&[], &["fail"], &["the unmodified program ended with status 7", "last line of its output: \"rate 100\""]),
        (&[], &["crash"], &["the unmodified program was killed by signal 6"]),
    ];
    for (flags, arguments, words) in cases {
        let flags = [&["--swap", "adaptive", "--runs", "6", "--warmup", "0", "--quiet"][..], flags].concat();
        let output = trace(&flags, &program, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{flags:?} {}", stderr(&output));
        words.iter().for_each(|word| assert!(stderr(&output).contains(word), "{word} in {}", stderr(&output)));
    }
}

#[test]
fn flags_that_make_no_sense_are_usage_errors() {
    let programs = Programs::new();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--swap", "robust"], &["--swap", "robust", "adaptive", "mcs"]),
        (&["--swap", "mcs", "--metric", "a("], &["--metric", "a("]),
        (&["--swap", "mcs", "--metric", "a=1", "--metric", "a=2"], &["--metric a", "two metrics"]),
        (&["--swap", "mcs", "--metric", "a=1", "--higher-is-better=b"], &["--higher-is-better=b", "no --metric"]),
        (&["--swap", "mcs", "--fail-if", "faster:5%"], &["--fail-if", "slower:5%"]),
        (&["--swap", "mcs", "--runs", "5"], &["--runs", "from 6 to 10000"]),
        // Six runs cannot show any of 42 comparisons. No command ran before that, or it would have failed.
        (
            &["--swap", "all", "--metric", "a", "--runs", "6", "--prepare", "exit 9"],
            &["--runs 6", "too few for 42 comparisons", "allowed: 7 to 10000"],
        ),
        (&["--swap", "mcs", "--full"], &["--full", "--swap"]),
        (&["--runs", "6"], &["--swap"]),
    ];
    for (flags, words) in cases {
        let output = trace(flags, Path::new("/bin/true"), &[]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags:?} {}", stderr(&output));
        words.iter().for_each(|word| assert!(stderr(&output).contains(word), "{word} in {}", stderr(&output)));
    }
    drop(programs);
}

#[test]
fn the_help_of_runs_says_the_fewest() {
    let output = trace(&["--help"], Path::new("/bin/true"), &[]).output().unwrap();
    let help = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(help.contains("Measured runs of each variant; with 24 comparisons"), "{help}");
}
