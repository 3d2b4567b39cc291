//! Commands that fail: one message, and the runs before it are kept.

use super::{ab, place, stderr};
use crate::command::read;

#[test]
fn failing_runs_end_with_their_reason() {
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["true", "sh -c 'echo why; exit 3'"],
            &["ended with status 3", "last line of its output: \"why\"", "nothing was compared"],
        ),
        (&["true", "sh -c 'kill -9 $$'"], &["killed by signal 9"]),
        (&["true", "sh -c 'exit 3'", "--ignore-failure"], &["status 3", "status 0", "not do the same work"]),
        (&["true", "sleep 100", "--timeout", "0.2s"], &["sleep 100 did not end within"]),
        (&["echo 1", "echo 2", "--metric", "1"], &["--metric 1: no match", "echo 2"]),
        (&["echo 1", "echo 1 1", "--metric", "1"], &["2 matches in one run"]),
        (&["echo 1", "echo 2", "--same-output"], &["--same-output: echo 2 printed \"2\" instead of \"1\""]),
        (&["true", "true", "--prepare", "exit 4"], &["--prepare exit 4"]),
    ];
    for (flags, words) in cases {
        let output = ab(&[*flags, &["--runs", "6"]].concat());
        assert_eq!(output.status.code(), Some(1), "{flags:?} {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{flags:?}");
        words.iter().for_each(|word| assert!(stderr(&output).contains(word), "{word} in {}", stderr(&output)));
    }
}

#[test]
fn equal_failures_are_compared_if_failures_are_ignored() {
    let output = ab(&["sh -c 'exit 3'", "sh -c 'exit 3 '", "--ignore-failure", "--runs", "6", "--format", "json"]);
    let record = read(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(record["parameters"]["runs"][0]["exit_status"], 3);
}

#[test]
fn runs_before_a_failure_are_kept() {
    let (_directory, path) = place();
    // Its fifth run fails, the first of which is the warm-up.
    let fails = format!("n=$(cat {path}/n 2>/dev/null || echo 0); echo $((n + 1)) > {path}/n; [ $n -lt 4 ]");
    let output = ab(&["true", &fails, "--runs", "20", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("ended with status 1"), "{}", stderr(&output));
    let record = read(&output.stdout);
    assert_eq!(record["parameters"]["ended_by"], "failed");
    assert!(record["results"].as_array().unwrap().iter().all(|row| row["runs"] == 3 || row["runs"] == 4));
}
