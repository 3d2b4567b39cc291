//! The differences that get a verdict, and the exit status.

use super::{answer, compared, latency, line, text, verdict};
use crate::command::{record, stored};
use serde_json::{Value, json};

#[test]
fn hold_time_longer_by_a_tenth_is_the_only_difference() {
    let (a, mut b) = (latency(100.0, 1_130.0), latency(100.5, 1_230.0));
    b["parameters"]["hold_us"] = json!(1.1);
    b["results"].as_array_mut().unwrap().iter_mut().for_each(|row| row["hold_us"] = json!(1.1));
    let found = answer(&a, &b);
    assert_eq!(verdict(&found, "round trip, median"), "slower");
    for figure in ["lock, median", "lock, 99.9 %", "lock and unlock"] {
        assert_eq!(verdict(&found, figure), "no difference shown");
    }
    assert_eq!(found["parameters"], json!([{"name": "hold_us", "values": ["1.0", "1.1"]}]));
    let line = found["cells"].as_array().unwrap().iter().find(|line| line["verdict"] == "slower").unwrap();
    let ends = line["ratio_ci"].as_array().unwrap();
    assert!(ends[0].as_f64().unwrap() > 1.0 && ends[0].as_f64() < line["ratio"].as_f64(), "{line}");
    assert_eq!(verdict(&answer(&b, &a), "round trip, median"), "faster");
}

#[test]
fn usual_run_to_run_variation_is_not_a_difference() {
    let output = text(&latency(100.0, 1_130.0), &latency(103.0, 1_155.0));
    assert!(output.contains("4 values: 4 no difference shown."), "{output}");
}

#[test]
fn higher_throughput_is_faster_and_lower_is_slower() {
    let mut a = stored::named("throughput");
    a["results"].as_array_mut().unwrap().truncate(1);
    a["warnings"] = json!([]);
    let with = |loops: f64| {
        let mut record = a.clone();
        record["environment"]["seed"] = json!(loops as u64);
        record["results"][0]["throughput_per_s"] = json!(loops);
        record["results"][0]["throughput_ci"] = json!([loops * 0.99, loops * 1.01]);
        record
    };
    assert_eq!(verdict(&answer(&with(1e6), &with(5e5)), "loops"), "slower");
    assert_eq!(verdict(&answer(&with(1e6), &with(2e6)), "loops"), "faster");
    // Rates of a run in which other programs had half of the CPUs are unreliable.
    let mut disturbed = with(2e6);
    disturbed["warnings"] = json!([{"code": "other_load", "share": 0.5, "message": "m", "remedy": "r"}]);
    let found = answer(&with(1e6), &disturbed);
    assert_eq!(verdict(&found, "loops"), "no difference shown");
    assert!(found["cautions"][0].as_str().unwrap().contains("50.0 %"), "{found}");
}

#[test]
fn limit_is_exceeded_by_the_interval_not_by_the_estimate() {
    let (a, worse) = (latency(100.0, 1_130.0), latency(100.0, 1_240.0));
    let status = |limit: &str, a: &Value, b: &Value| compared(a, b, &["--fail-if", limit]).status.code();
    let failed = compared(&a, &worse, &["--fail-if", "slower:3%"]);
    assert_eq!(failed.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("slower:3%: std, 1 thread: round trip, median"));
    assert!(!failed.stdout.is_empty(), "the comparison is printed all the same");
    assert_eq!(status("slower:9%", &a, &worse), Some(0), "the point is 9.7 %, the interval begins below");
    assert_eq!(status("faster:3%", &a, &worse), Some(0));
    assert_eq!(status("faster:3%", &worse, &a), Some(3));
    assert_eq!(status("slower:50%,differs:3%", &a, &worse), Some(3));
}

#[test]
fn larger_slowdown_of_an_iteration_is_shown_as_well() {
    // From 1.25 µs on, less than four fifths of the iteration are its hold time.
    for times in [1.1, 1.2, 1.3, 1.5, 2.0] {
        let found = answer(&latency(100.0, 1_130.0), &latency(100.0, 1_130.0 * times));
        assert_eq!(verdict(&found, "round trip, median"), "slower", "{times}");
        assert_eq!(
            verdict(&answer(&latency(100.0, 1_130.0), &latency(100.0, 1_130.0 / times)), "round trip, median"),
            "faster"
        );
    }
}

#[test]
fn limit_below_every_change_that_could_be_found_does_not_pass() {
    let (a, b) = (latency(100.0, 1_130.0), latency(101.0, 1_131.0));
    let found = answer(&a, &b);
    let could = |figure: &str| line(&found, figure)["could_have_found"].as_f64().unwrap();
    assert!((1.03..1.08).contains(&could("round trip, median")), "{found}");
    assert!(could("lock, median") > 1.5 && could("lock, 99.9 %") > could("lock, median"), "{found}");
    let status = |limit: &str| compared(&a, &b, &["--fail-if", limit]).status.code();
    assert_eq!(status("slower:1%"), Some(4));
    assert_eq!(status("slower:1%,slower:10%"), Some(4), "one limit that could not be applied is enough");
    assert_eq!(status("slower:10%"), Some(0));
    let output = compared(&a, &b, &["--fail-if", "slower:5%"]);
    assert_eq!(output.status.code(), Some(0), "the interval of the iteration excludes 5 %");
    assert!(String::from_utf8_lossy(&output.stderr).contains("3 could have shown larger changes only"));
    // A limit of no size is that of any shown difference.
    assert_eq!(status("slower:0%"), Some(0));
    let output = compared(&a, &b, &["--fail-if", "slower:1%"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("slower:1%: none of 4 values could have shown it"), "{stderr}");
}

#[test]
fn limit_that_no_value_can_exceed_does_not_pass() {
    // Neither direction of a probability is better, so that no probability can be slower.
    let frames = |frame: &str| record(&["model", "frames", "--frame", frame, "--quantum", "1ms"]);
    let (a, b) = (frames("1ms"), frames("2ms"));
    let output = compared(&a, &b, &["--fail-if", "slower:5%"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(4) && stderr.contains("only differs: applies"), "{stderr}");
    assert_eq!(compared(&a, &b, &["--fail-if", "differs:5%"]).status.code(), Some(3));
    // A limit that could be judged in part is passed, and the rest is named.
    let (a, mut b) = (latency(100.0, 1_130.0), latency(100.0, 1_131.0));
    b["results"].as_array_mut().unwrap().retain(|row| row["operation"] == "round_trip");
    let output = compared(&a, &b, &["--fail-if", "slower:5%"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stderr.contains("0 of 4 values of A could not be judged, and 3 are missing in B"),
        "{stderr}"
    );
}

/// A record and another run with the same values have no difference.
#[test]
fn every_experiment_can_be_compared() {
    for old in stored::all() {
        let (mut a, mut b) = (old.record.clone(), old.record.clone());
        [&mut a, &mut b].into_iter().for_each(|record| record["warnings"] = json!([]));
        b["environment"]["seed"] = json!(77);
        let found = answer(&a, &b);
        let cells = found["cells"].as_array().unwrap();
        assert!(!cells.is_empty(), "{}", old.name());
        for line in cells {
            let same = ["no difference shown", "not judged"].contains(&line["verdict"].as_str().unwrap());
            assert!(same && line["ratio"].as_f64().is_none_or(|ratio| ratio == 1.0), "{}: {line}", old.name());
        }
        assert!(found["environment"].as_array().unwrap().is_empty(), "{}: {found}", old.name());
    }
}

/// Returns a hop of seven cycles on a core at this frequency, whatever other programs took of it.
fn ring(ghz: f64) -> Value {
    let mut record: Value = serde_json::from_str(include_str!("../../records/ring.json")).unwrap();
    record["results"].as_array_mut().unwrap().retain(|row| row["contestant"] == "rust-fifo" && row["pinned"] == true);
    let row = &mut record["results"][0];
    let around = |value: f64| json!([value * 0.995, value * 1.005]);
    for (figure, value) in [("ns_per_hop", 7.1 / ghz), ("ns_per_hop_alone", 7.0 / ghz), ("cycles_per_hop_alone", 7.0)] {
        row[figure] = json!(value);
        row[format!("{figure}_ci")] = around(value);
    }
    (row["core_ghz_alone"], row["core_ghz_alone_span"]) = (json!(ghz), around(ghz));
    record["warnings"] = json!([]);
    record["environment"]["seed"] = json!((ghz * 1e3) as u64);
    record
}

#[test]
fn different_core_frequency_is_reported_and_cycles_agree() {
    let (fast, slow) = (ring(4.0), ring(1.25));
    let found = answer(&fast, &slow);
    assert_eq!(verdict(&found, "a hop"), "slower");
    assert_eq!(verdict(&found, "a hop in cycles, core exclusive"), "no difference shown");
    let output = found["cautions"].to_string();
    assert!(
        output.contains("4.00 GHz in A and at 1.25 GHz in B; this alone makes durations 3.20 times as long"),
        "{output}"
    );
    // Within the usual variation of a core's frequency, there is no warning.
    let output = answer(&fast, &ring(3.96))["cautions"].to_string();
    assert!(!output.contains("GHz"), "{output}");
}

/// Only other runs with the same settings show the scatter of a longest gap.
#[test]
fn longest_gap_of_a_run_is_listed_without_judgement() {
    let a = stored::named("noise");
    let mut b = a.clone();
    b["environment"]["seed"] = json!(8);
    b["results"][0]["longest_us"] = json!(2.0 * a["results"][0]["longest_us"].as_f64().unwrap());
    let found = answer(&a, &b);
    assert_eq!(verdict(&found, "longest gap, whole run"), "not judged");
    assert_eq!(super::line(&found, "longest gap, whole run")["ratio"], 2.0);
}
