//! `contend ab`: wrong options, and how often a command differed from itself.

use crate::command::archive::{Archive, has_git};
use crate::command::contend;
use serde_json::{Value, json};
use std::fs;

/// Returns the stored record of `contend ab`, whose control differs or not; `None`: it had no control.
fn compared(differs: Option<bool>, nth: u64) -> String {
    let stored = include_str!("../records/ab.json");
    let mut record: Value = serde_json::from_str(stored).unwrap();
    record["parameters"]["control_differs"] = json!(differs);
    record["environment"]["started_unix_s"] = json!(1_700_000_000 + nth);
    record.to_string() + "\n"
}

#[test]
fn false_alarms_are_counted_by_machine() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let none = archive.contend(&["history", "controls"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("contend ab --control"), "{none:?}");
    for (nth, (host, differs)) in
        [("one", Some(false)), ("one", Some(true)), ("one", Some(false)), ("one", None), ("two", Some(false))]
            .into_iter()
            .enumerate()
    {
        archive.host = host.into();
        archive.insert_bytes(&compared(differs, nth as u64));
    }
    let found: Value =
        serde_json::from_slice(&archive.contend(&["history", "controls", "--format", "json"]).stdout).unwrap();
    let counts: Vec<_> =
        found.as_array().unwrap().iter().map(|of| [&of["host"], &of["controls"], &of["differed"]]).collect();
    assert_eq!(counts, [[&json!("one"), &json!(3), &json!(1)], [&json!("two"), &json!(1), &json!(0)]]);
    // The exact interval of 1 in 3.
    let ends: Vec<f64> =
        found[0]["false_alarm_share_ci"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    assert!((ends[0] - 0.00840).abs() < 1e-4 && (ends[1] - 0.90570).abs() < 1e-4, "{ends:?}");
    let text = String::from_utf8(archive.contend(&["history", "controls", "--host", "two"]).stdout).unwrap();
    assert!(text.contains("two") && !text.contains("one ") && text.contains("(0.0 %–97.5 %)"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn wrong_options_are_usage_errors_that_run_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let ran = directory.path().join("ran");
    let touch = format!("touch {}", ran.display());
    let ab = |arguments: &[&str]| {
        let output = contend(&[&["ab", "--quiet"], arguments].concat());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
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
        let (status, stderr) = ab(&[*flags, &["--prepare", &touch]].concat());
        assert_eq!(status, Some(2), "{flags:?} {stderr}");
        words.iter().for_each(|word| assert!(stderr.contains(word), "{word} in {stderr}"));
        assert!(!fs::exists(&ran).unwrap(), "{flags:?}");
    }
    let (status, stderr) = ab(&[]);
    assert_eq!(status, Some(2));
    assert!(stderr.contains("no command to compare; type `contend ab './old"), "{stderr}");
}

#[test]
fn a_file_that_cannot_be_written_costs_no_measurement() {
    let output = contend(&["ab", "--quiet", "true", "true", "--export-hyperfine", "/nonesuch/file"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_ne!(output.status.code(), Some(0));
    assert!(stderr.contains("--export-hyperfine /nonesuch/file"), "{stderr}");
}
