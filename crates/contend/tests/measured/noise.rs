//! `contend noise` through its binary.

use crate::command::{contend, executable, read, record, results};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

const FIELDS: &[&str] = &[
    "scenario",
    "samples",
    "loop_ns",
    "bare_loop_ns",
    "threshold_ns",
    "gaps",
    "over_256us",
    "longest_us",
    "lost_share",
    "causes",
    "explained_share",
    "ledger",
    "evidence",
    "turns",
    "then",
];
const CAUSE_FIELDS: &[&str] = &["kind", "name", "count", "total_us", "share"];

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

fn scenario<'a>(record: &'a Value, name: &str) -> &'a Value {
    let found = results(record).iter().find(|row| row["scenario"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {record}"))
}

/// Returns whether the kernel events of whole CPUs may be read here.
fn sees_the_cpus(row: &Value) -> bool {
    let sees = row["evidence"] == "cpu_record";
    if !sees {
        println!("skipped: needs CAP_PERFMON");
    }
    sees
}

/// All scenarios.
const EVERY: &str = "quiet,competitor,both,rescheduler";

#[test]
fn record_has_every_field_and_the_values_of_1999() {
    let record = record(&["noise", "--scenario", EVERY, "--seconds", "2", "--seed", "3", "--histogram"]);
    assert_eq!(record["experiment"], "noise");
    for row in results(&record) {
        FIELDS.iter().for_each(|field| assert!(row.get(field).is_some(), "{field} is missing"));
        for cause in row["causes"].as_array().unwrap() {
            CAUSE_FIELDS.iter().for_each(|field| assert!(cause.get(field).is_some(), "{field} is missing"));
        }
        assert!(number(row, "threshold_ns") > number(row, "loop_ns") && number(row, "samples") > 0.0);
        assert!((0.0..=1.0).contains(&number(row, "lost_share")));
        let turns = row["turns"].as_array().unwrap();
        let gaps: f64 = turns.iter().map(|turn| number(turn, "gaps")).sum();
        assert_eq!(gaps, number(row, "gaps"));
        let by_us = row["gaps_by_us"].as_array().unwrap();
        assert_eq!(by_us.iter().map(|bin| number(bin, "count")).sum::<f64>(), gaps);
        let over_1us = by_us.iter().filter(|bin| number(bin, "us") >= 1.0).map(|bin| number(bin, "count")).sum::<f64>();
        // A gap of exactly 1 µs is not longer.
        assert!((over_1us - number(row, "over_1us")).abs() <= 1.0, "{row}");
        // The causes add up to the time of all gaps.
        let shares: f64 = row["causes"].as_array().unwrap().iter().map(|cause| number(cause, "share")).sum();
        assert!(row["causes"].as_array().unwrap().is_empty() || (shares - 1.0).abs() < 1e-6, "{shares}");
    }
    assert_eq!(scenario(&record, "quiet")["then"]["bare_over_256us"], 35);
    // A competitor with other weights, where the machine does not grant those of 1999, has no values of its test.
    let ratio = number(&record["parameters"], "weight_ratio");
    let then = &scenario(&record, "competitor")["then"];
    assert_eq!(then["normal_longest_us"].as_f64(), (ratio > 900.0).then_some(6127.0));
    let other =
        crate::command::record(&["noise", "--scenario", "competitor", "--weight-ratio", "68", "--samples", "1M"]);
    assert!(scenario(&other, "competitor")["then"].is_null());
}

/// At 68:1 a time slice comes every 0.28 s; one repetition of a second has several.
#[test]
fn repetition_too_short_for_the_competitor_is_a_warning() {
    let short = record(&["noise", "--scenario", "competitor", "--weight-ratio", "1024", "--seconds", "1"]);
    let long = record(&["noise", "--scenario", "competitor", "--weight-ratio", "1", "--seconds", "2"]);
    let is_warned =
        |record: &Value| record["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "short_turns");
    let slice_s = number(scenario(&short, "competitor"), "competitor_slice_every_s");
    assert!(is_warned(&short) && slice_s > 0.2, "{short}");
    assert!(!is_warned(&long), "{long}");
    let row = scenario(&long, "competitor");
    if sees_the_cpus(row) {
        let own_us = number(row, "competitor_longest_p50_us");
        assert!(own_us > 0.0 && own_us <= number(row, "longest_us"), "{row}");
    }
}

#[test]
fn the_longest_gaps_have_their_times_and_causes() {
    let began = std::time::Instant::now();
    let record = record(&["noise", "--scenario", "quiet,rescheduler", "--seconds", "1"]);
    let took_s = began.elapsed().as_secs_f64();
    for row in results(&record) {
        let gaps = row["longest_gaps"].as_array().unwrap();
        assert_eq!(gaps.len() as f64, number(row, "gaps").min(100.0));
        let lengths: Vec<f64> = gaps.iter().map(|gap| number(gap, "length_us")).collect();
        assert!(lengths.is_sorted_by(|one, next| one >= next), "{lengths:?}");
        assert_eq!(lengths.first().copied().unwrap_or(0.0), number(row, "longest_us"));
        for gap in gaps {
            assert!(gap["kind"].is_string() && number(gap, "cause_us") <= number(gap, "length_us"), "{gap}");
            assert!((0.0..took_s).contains(&number(gap, "start_s")), "{gap}");
        }
    }
}

/// The time that a competitor reports itself is attributed to it.
#[test]
fn gaps_are_attributed_to_the_competitor() {
    let record = record(&["noise", "--scenario", "quiet,competitor", "--nice", "0,0", "--seconds", "2"]);
    let row = scenario(&record, "competitor");
    assert!(number(row, "competitors_cpu_share") > 0.0, "{row}");
    if sees_the_cpus(row) {
        let competitor = row["causes"].as_array().unwrap().iter().find(|cause| cause["name"] == "competitor");
        let named_us = number(competitor.expect("it is among the causes"), "total_us");
        let took_us = number(row, "competitors_cpu_share") * number(row, "span_s") * 1e6;
        assert!(named_us > 0.5 * took_us, "{named_us} of {took_us} µs: {row}");
        assert_eq!(row["ledger"]["source"], "cpu_record");
    }
}

#[test]
fn kernel_events_fall_into_gaps() {
    let record = record(&["noise", "--scenario", "quiet", "--seconds", "1"]);
    let row = scenario(&record, "quiet");
    if sees_the_cpus(row) && row["ledger"]["lost_events"] == 0 {
        let (inside, outside) = (number(row, "events_in_gaps"), number(row, "events_outside_gaps"));
        assert!(inside > 0.0 && outside <= 0.01 * inside + 1.0, "{inside} in a gap, {outside} in none");
    }
}

#[test]
fn causes_without_evidence_are_unexplained() {
    let record = record(&["noise", "--scenario", "quiet", "--evidence", "none", "--samples", "1M"]);
    let row = scenario(&record, "quiet");
    assert_eq!(row["evidence"], "none");
    assert!(row["explained_share"].is_null() && row["ledger"].is_null() && row["causes"] == Value::Array(Vec::new()));
    let gaps = row["longest_gaps"].as_array().unwrap();
    assert!(gaps.iter().all(|gap| gap["kind"] == "unexplained"), "{gaps:?}");
    assert_eq!(number(row, "samples"), 6e6, "six turns");
}

/// Real-time priority and low nice values need privileges, the reading does not.
#[test]
fn unprivileged_run_measures_the_rest_and_names_the_remedy() {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root, to give it up");
        return;
    }
    // An unprivileged user could not start a program below a private directory.
    let folder =
        tempfile::Builder::new().permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755)).tempdir().unwrap();
    let binary = folder.path().join("contend");
    executable(&binary, std::fs::read(env!("CARGO_BIN_EXE_contend")).unwrap());
    let output = Command::new(&binary)
        .env("CONTEND_ARCHIVE", "")
        .args(["noise", "--scenario", EVERY, "--seconds", "1", "--format", "json"])
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("the binary starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let record = read(&output.stdout);
    let codes: Vec<&str> =
        record["warnings"].as_array().unwrap().iter().filter_map(|warning| warning["code"].as_str()).collect();
    assert!(codes.contains(&"nice_refused") && codes.contains(&"left_out"), "{codes:?}");
    assert!(record["warnings"].to_string().contains("cap_sys_nice"), "{record}");
    assert_eq!(results(&record).len(), 2, "quiet and competitor");
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if paranoid.trim().parse::<i32>().is_ok_and(|level| level > 0) {
        assert!(results(&record).iter().all(|row| row["evidence"] != "cpu_record"));
    }
}

#[test]
fn remedies_are_compared_under_one_load() {
    let record = record(&["noise", "--remedies", "--seconds", "3"]);
    let names: Vec<&str> = results(&record).iter().filter_map(|row| row["scenario"].as_str()).collect();
    for name in ["equal nice values", "nice values alone", "competitor SCHED_BATCH", "competitor SCHED_IDLE"] {
        assert!(names.contains(&name), "{name} is missing: {names:?}");
    }
    for row in results(&record) {
        assert!(row["competitors_cpu_share"].is_number(), "{row}");
    }
    let text = String::from_utf8(contend(&["noise", "--remedies", "--seconds", "2", "--quiet"]).stdout).unwrap();
    assert!(text.contains("The advice of 1999"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn noise_text_fits_eighty_columns_and_has_the_coverage() {
    let quiet = contend(&["noise", "--seconds", "0.5", "--quiet"]);
    // An ordinary thread: no other task is hidden by its priority.
    let text = String::from_utf8(quiet.stdout).unwrap();
    assert!(text.contains(" at nice 0\n") && !text.contains("and in 1999"), "{text}");
    let both = contend(&["noise", "--scenario", "quiet,competitor", "--seconds", "2", "--quiet"]);
    let text = String::from_utf8(both.stdout).unwrap();
    assert!(text.contains("and in 1999") && text.contains("Causes of lost CPU time: quiet"), "{text}");
    assert!(text.contains("coverage:"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_trace_has_every_gap_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gaps.txt");
    let file = path.to_str().unwrap();
    let record = record(&["noise", "--seconds", "0.5", "--trace", file]);
    assert_eq!(results(&record).len(), 1, "a trace is of the quiet scenario alone");
    let text = std::fs::read_to_string(&path).unwrap();
    let gaps: Vec<(u64, u64)> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once(' ').expect("two columns"))
        .map(|(start, length)| (start.parse().unwrap(), length.parse().unwrap()))
        .collect();
    assert_eq!(gaps.len() as f64, number(&results(&record)[0], "gaps"));
    assert!(gaps.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{gaps:?}");
    let read = contend(&["model", "step", "--trace", file, "--step", "1ms", "--nodes", "1", "--quiet"]);
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}

#[test]
fn a_trace_may_be_a_histogram_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gaps.hlog");
    assert!(contend(&["noise", "--seconds", "0.5", "--quiet", "--trace", path.to_str().unwrap()]).status.success());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("#[StartTime:") && text.lines().any(|line| line.contains(",HIST")), "{text}");
}

#[test]
fn unwritable_trace_does_not_lose_the_record() {
    let output = contend(&["noise", "--seconds", "0.3", "--trace", "/dev/full", "--format", "json", "--quiet"]);
    assert_eq!(output.status.code(), Some(1));
    let record = read(&output.stdout);
    assert_eq!(results(&record).len(), 1);
    assert!(String::from_utf8_lossy(&output.stderr).contains("/dev/full: cannot write the file"));
}

#[test]
fn lines_are_printed_while_measuring() {
    let output = contend(&["noise", "--interval", "100ms", "--seconds", "0.5", "--view", "json", "--quiet"]);
    assert!(output.status.success());
    let lines: Vec<Value> =
        output.stdout.lines().map(|line| serde_json::from_str(&line.unwrap()).expect("an object a line")).collect();
    assert!(lines.len() >= 2, "{lines:?}");
    assert!(lines.windows(2).all(|pair| number(&pair[0], "time_s") < number(&pair[1], "time_s")));
    assert!(lines.iter().all(|line| line["scenario"] == "quiet" && line["causes"].is_array()));
}

#[test]
fn lines_that_cannot_be_printed_are_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_contend"))
        .env("CONTEND_ARCHIVE", "")
        .args(["noise", "--interval", "50ms", "--view", "json", "--quiet"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .expect("the binary starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot print the lines"));
}

/// The reader of the lines goes away, and the run ends.
#[test]
fn closed_reader_of_the_lines_ends_the_run() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_contend"))
        .env("CONTEND_ARCHIVE", "")
        .args(["noise", "--interval", "50ms", "--quiet"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("lost"), "{first}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
