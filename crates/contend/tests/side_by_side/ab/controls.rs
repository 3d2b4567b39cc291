//! `contend history controls`: how often a command differed from itself.

use crate::command::archive::{Archive, has_git};
use serde_json::{Value, json};

/// Returns the stored record of `contend ab`, whose control differs or not; `None`: it had no control.
fn compared(differs: Option<bool>, nth: u64) -> String {
    let stored = include_str!("../../records/ab.json");
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
