//! Wrong options and wrong commands: one message, and nothing is left behind.

use super::{ab, place, stderr};
use crate::command::read;
use std::fs;

#[test]
fn wrong_options_are_usage_errors_that_run_nothing() {
    let (_directory, path) = place();
    let ran = format!("{path}/ran");
    let touch = format!("touch {ran}");
    let cases: &[(&[&str], &[&str])] = &[
        (&["true"], &["one command to compare", "--parameter"]),
        (&["true", "./nonesuch"], &["./nonesuch", "No such file"]),
        (&["true", "nonesuch-command"], &["nonesuch-command", "not found in PATH", "--shell"]),
        (&["true", "/etc/passwd"], &["/etc/passwd: not an executable file"]),
        (&["true", "echo 'a"], &["echo 'a", "quote ' has no end"]),
        (&["true", ""], &["empty command"]),
        (&["true", "true", "--runs", "0"], &["--runs", "from 1 to 100000"]),
        (&["true", "true", "--least", "2"], &["--least", "percentage"]),
        (&["true", "true", "--least", "-1%"], &["--least", "0% to 100%"]),
        (&["true", "true", "--fail-if", "faster:5%"], &["--fail-if", "slower:5%"]),
        (&["true", "true", "--parameter", "n=1,2"], &["--parameter n", "no command contains {n}"]),
        (&["echo {n}", "--parameter", "n"], &["--parameter", "threads=1,2,4"]),
        (&["echo {a}{b}", "--parameter", "a,b=1:2,3"], &["--parameter", "1 values for 2 names"]),
        (&["echo {a}", "--parameter", "a=1", "--parameter", "a=2"], &["--parameter a: given twice"]),
        (&["true", "true", "--metric", "a=1", "--metric", "a=2"], &["--metric a", "two metrics"]),
        (&["true", "true", "--higher-is-better=x", "--metric", "a=1"], &["--higher-is-better=x"]),
        (&["true", "true", "--input", "/nonesuch"], &["--input /nonesuch: No such file"]),
        (&["true", "true", "--directory", "/nonesuch"], &["--directory /nonesuch: not a directory"]),
        (&["a", "b", "c", "--directory", "/", "--directory", "/tmp"], &["2 directories for 3 commands"]),
        (&["true", "true", "--env", "=x"], &["--env", "NAME=VALUE"]),
        (&["true | cat", "true", "--watch"], &["--watch", "shell"]),
        (&["true", "--revisions", "HEAD"], &["--revisions: one revision"]),
        (&["true", "true", "--revisions", "HEAD,HEAD"], &["--revisions: 2 commands"]),
        (&["true", "true", "--build", "make"], &["--build", "--revisions"]),
    ];
    for (flags, words) in cases {
        let output = ab(&[*flags, &["--prepare", &touch]].concat());
        assert_eq!(output.status.code(), Some(2), "{flags:?} {}", stderr(&output));
        words.iter().for_each(|word| assert!(stderr(&output).contains(word), "{word} in {}", stderr(&output)));
        assert!(!fs::exists(&ran).unwrap(), "{flags:?}");
    }
    let none = ab(&[]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("no command to compare; type `contend ab './old"), "{}", stderr(&none));
}

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
