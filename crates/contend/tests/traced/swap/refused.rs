//! Errors that the user can make, and that only a run shows.

use super::stderr;
use crate::programs::{Programs, command as trace};

/// Checks that each error has one message, with the problem and a remedy.
#[test]
fn what_is_wrong_with_a_metric_or_a_program_is_said() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("answers", &[]) else { return };
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["--metric", "nonesuch"], &[], &["--metric nonesuch: no match", "unmodified program"]),
        (&["--metric", "r"], &[], &["--metric r: 2 matches in one run"]),
        (&["--metric", "(rate) "], &[], &["\"rate\" is not a number"]),
        (&["--prepare", "false"], &[], &["--prepare false", "status 1"]),
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
