//! Lines, JSON and CSV; and invalid flags.

use super::SHARES;
use crate::command::contend;
use serde_json::Value;

#[test]
fn pipe_receives_plain_lines_of_eighty_columns() {
    for view in [&["load", "--view", "lines"][..], &["load"]] {
        let output = contend(&[view, &["--interval", "200ms", "--seconds", "0.6", "--quiet"]].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && !text.contains('\x1b'), "{text}");
        assert!(text.starts_with("    time   load") && text.contains("in 1998,\n97 %"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80 && line == line.trim_end()), "{text}");
    }
}

#[test]
fn every_json_line_is_one_object() {
    let output = contend(&["load", "--view", "json", "--interval", "200ms", "--seconds", "0.6", "--quiet"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["measurement"] == "interval"));
    assert!(lines.iter().any(|line| line["measurement"] == "total"));
    for line in lines.iter().filter(|line| line["measurement"] == "interval") {
        SHARES.iter().chain(&["time_s", "cpu"]).for_each(|field| assert!(line.get(field).is_some(), "{field}"));
    }
}

#[test]
fn csv_has_a_row_for_each_result() {
    let output = contend(&["load", "--format", "csv", "--seconds", "0.5", "--quiet"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("measurement,time_s,cpu,load_share,"), "{text}");
    assert!(text.lines().count() > 2, "{text}");
}

#[test]
fn wrong_flags_exit_with_2_and_name_what_is_allowed() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--interval", "0"], &["--interval", "at least 100ms"]),
        (&["--interval", "1ms"], &["--interval", "at least 100ms"]),
        (&["--interval", "-1s"], &["--interval", "negative"]),
        (&["--interval", "10min"], &["--interval", "at most 1min"]),
        (&["--priority", "20"], &["--priority", "20", "-20 to 19"]),
        (&["--priority", "-21"], &["--priority", "-21", "-20 to 19"]),
        (&["--priority", "fifo:100"], &["--priority", "1 to 99"]),
        (&["--priority", "fifo", "--grinders", "2"], &["--grinders 2", "--priority fifo", "must sleep"]),
        (&["--grinders", "0"], &["--grinders", "from 1 to 64"]),
        (&["--view", "json", "--format", "json"], &["--view json", "--output FILE"]),
        (&["--view", "tea"], &["--view", "graph"]),
        (&["--cpus", "4095"], &["--cpus", "4095"]),
    ];
    for (arguments, words) in cases {
        let output = contend(&[&["load"], *arguments].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty());
        words.iter().for_each(|word| assert!(stderr.contains(word), "{arguments:?} should say {word:?}:\n{stderr}"));
    }
}
