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
