//! Values of both sides, or of only one; and records that cannot be compared.

use super::{compared, files, latency, text};
use crate::command::{contend, record, stored};
use serde_json::{Value, json};

#[test]
fn a_cell_of_one_side_is_neither_pass_nor_regression() {
    let a = latency(100.0, 1_130.0);
    let mut b = latency(101.0, 1_131.0);
    let mut other = b["results"].as_array().unwrap().clone();
    other.iter_mut().for_each(|row| row["lock"] = json!("fresh"));
    b["results"].as_array_mut().unwrap().extend(other);
    let output = text(&a, &b);
    assert!(output.contains("not measured in A: 4\n") && output.contains("fresh, 1 thread"), "{output}");
    assert!(text(&b, &a).contains("not measured in B: 4\n"));
    assert_eq!(compared(&a, &b, &["--fail-if", "differs:0%"]).status.code(), Some(0));
    b["results"].as_array_mut().unwrap().retain(|row| row["lock"] == "fresh");
    let nothing = compared(&a, &b, &[]);
    let stderr = String::from_utf8_lossy(&nothing.stderr);
    let is_named = stderr.contains("no configuration in common") && stderr.contains(".json has fresh, 1 thread; only");
    assert!(nothing.status.code() == Some(1) && is_named, "{stderr}");
}

#[test]
fn settings_that_vary_in_a_record_name_its_cells() {
    let a = latency(100.0, 1_130.0);
    let mut b = latency(100.0, 1_131.0);
    let mut longer = b["results"].as_array().unwrap().clone();
    longer.iter_mut().for_each(|row| row["hold_us"] = json!(2.0));
    b["results"].as_array_mut().unwrap().extend(longer);
    let output = text(&a, &b);
    assert!(output.contains("std, 1 thread, hold 1.00 µs: lock, median"), "{output}");
    assert!(output.contains("not measured in A: 4\n") && output.contains("std, 1 thread, hold 2.00 µs"), "{output}");
}

#[test]
fn different_machine_is_reported_first() {
    let (a, mut b) = (latency(100.0, 1_130.0), latency(100.0, 1_131.0));
    b["environment"]["cpu"]["model"] = json!("Another CPU");
    b["environment"]["kernel"]["release"] = json!("99.1-other");
    let output = text(&a, &b);
    let places = ["different machines", "99.1-other", "no difference shown: 4"].map(|word| output.find(word));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{output}");
    assert!(output.lines().all(|line| line.chars().count() <= 80 || !line.contains("environment")), "{output}");
}

#[test]
fn a_survey_is_compared_with_one_of_its_experiments() {
    let a = latency(100.0, 1_130.0);
    let mut survey = latency(101.0, 1_130.0);
    survey["experiment"] = json!("survey");
    let clock = stored::named("clock");
    let tagged = |record: &Value, experiment: &str| {
        let mut rows = record["results"].as_array().unwrap().clone();
        rows.iter_mut().for_each(|row| row["experiment"] = json!(experiment));
        rows
    };
    survey["results"] = Value::from([tagged(&survey, "latency"), tagged(&clock, "clock")].concat());
    let output = text(&a, &survey);
    assert!(output.contains("4 values: 4 no difference shown."), "{output}");
    assert!(text(&survey, &clock).contains("effective MHz"));
}

#[test]
fn rows_have_a_line_for_each_value() {
    let (a, b) = (latency(100.0, 1_130.0), latency(100.0, 1_300.0));
    let rows = String::from_utf8(compared(&a, &b, &["--format", "csv"]).stdout).unwrap();
    let header = rows.lines().next().unwrap();
    for column in ["cell", "figure", "unit", "a", "a_ci_low", "ratio_ci_high", "verdict"] {
        assert!(header.split(',').any(|name| name == column), "{column} in {header}");
    }
    assert_eq!(rows.lines().count(), 5);
}

#[test]
fn incomparable_records_are_refused() {
    let good = latency(100.0, 1_130.0);
    let frames = record(&["model", "frames"]);
    let mut newer = good.clone();
    newer["schema"] = json!("contend/2");
    let mut unknown = good.clone();
    unknown["experiment"] = json!("cooking");
    let mut broken = good.clone();
    broken["results"][0]["p50_ns"] = json!("fast");
    let (folder, paths) = files(&[&good, &frames, &newer, &unknown, &broken, &good]);
    let half = folder.path().join("half.json");
    std::fs::write(&half, &good.to_string()[..500]).unwrap();
    let good = paths[0].as_str();
    let cases: [(&[&str], i32, &str); 11] = [
        (&["compare", good, &paths[1]], 2, "different experiments"),
        (&["compare", good, &paths[2]], 1, "contend/2"),
        (&["compare", good, &paths[3]], 2, "cooking"),
        (&["compare", good, &paths[4]], 1, "row 1"),
        (&["compare", good, half.to_str().unwrap()], 1, "truncated"),
        (&["compare", good, &paths[5]], 2, "the same record"),
        (&["compare", good, good], 2, "the same record"),
        (&["compare", good, "nowhere.json"], 1, "nowhere.json"),
        (&["compare", good], 2, "a baseline"),
        (&["compare", good, &paths[1], "--fail-if", "slower:5"], 2, "slower:5%"),
        (&["compare", good, &paths[1], "--format", "ulockflex"], 2, "text, json, csv"),
    ];
    for (call, status, word) in cases {
        let output = contend(call);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(status) && stderr.contains(word),
            "{call:?}: {:?} {stderr}",
            output.status
        );
        assert!(output.stdout.is_empty() && !stderr.contains("panicked"), "{call:?}: {stderr}");
    }
}
