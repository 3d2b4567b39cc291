//! `contend throughput` through its binary.

use crate::command::{contend, record, results};
use crate::load::first_cpu;
use serde_json::Value;

const FIELDS: &[&str] = &[
    "lock",
    "children",
    "processes",
    "locks",
    "nonhold_us",
    "hold_us",
    "share",
    "patience_us",
    "iterations",
    "converged",
    "write_contended_share",
    "read_contended_share",
    "retry",
    "cov",
    "throughput_per_s",
    "throughput_ci",
    "hold_seen_us",
    "ideal_share",
    "wait_p50_ns",
    "wait_p99_ns",
    "wait_max_ns",
    "syscalls_per_op",
];

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

#[test]
fn record_has_every_field_and_the_values_of_2002() {
    let record = record(&["throughput", "--lock", "sysv,calock,std", "--children", "2", "--run", "5ms"]);
    assert_eq!(record["experiment"], "throughput");
    // Three locks and the four mixes of 2002.
    assert_eq!(results(&record).len(), 12);
    for row in results(&record) {
        FIELDS.iter().for_each(|field| assert!(row.get(field).is_some(), "{field} is missing in {row}"));
        assert!((6..=20).contains(&row["iterations"].as_u64().unwrap()), "{row}");
        assert!(number(row, "throughput_per_s") > 0.0);
    }
    let then = |lock: &str, hold: f64| {
        let row = results(&record).iter().find(|row| row["lock"] == lock && row["hold_us"] == hold);
        row.unwrap()["then"]["throughput_per_s"].as_f64()
    };
    assert_eq!(then("sysv", 10.0), Some(59_885.0));
    assert_eq!(then("calock", 3.0), Some(132_291.0));
    assert_eq!(then("std", 3.0), None);
}

/// Two children under one lock cannot do more iterations than fit their hold time, as measured in the same repetitions,
/// however fast the lock is; the margin is for a machine that changes its speed within a repetition.
#[test]
fn a_lock_that_is_always_held_limits_the_throughput() {
    let record = record(&[
        "throughput",
        "--lock",
        "std,calock",
        "--children",
        "2",
        "--nonhold",
        "0",
        "--hold",
        "10us",
        "--run",
        "20ms",
    ]);
    for row in results(&record) {
        assert!((0.0..2.0).contains(&number(row, "ideal_share")) && number(row, "hold_seen_us") > 0.0, "{row}");
        // Where one child hardly gets a CPU, more than 99 of 100 waits are below the resolution. Not all locks count waits.
        let has_waits = row["write_contended_share"].as_f64() >= Some(0.02);
        assert!(!has_waits || number(row, "wait_max_ns") >= number(row, "wait_p99_ns") * 0.9, "{row}");
        assert!(number(row, "cov") >= 0.0);
    }
}

/// The lock itself counts contention: a single child never meets another.
#[test]
fn a_child_alone_is_never_contended() {
    let record = record(&["throughput", "--lock", "usema,calock,rwlock", "--children", "1", "--run", "5ms"]);
    for row in results(&record) {
        assert_eq!(number(row, "write_contended_share"), 0.0, "{row}");
        assert_eq!(number(row, "syscalls_per_op"), 0.0, "{row}");
    }
}

#[test]
fn processes_share_locks_and_leave_no_process() {
    let cells = ["throughput", "--processes", "--children", "3,20", "--nonhold", "1us", "--hold", "1us"];
    let record = record(&[&cells[..], &["--run", "10ms", "--seconds", "2"]].concat());
    assert!(results(&record).iter().all(|row| row["processes"] == true && number(row, "throughput_per_s") > 0.0));
    assert!(results(&record).iter().any(|row| row["lock"] == "pthread-shared"));
    assert!(results(&record).iter().all(|row| row["lock"] != "std"));
}

/// Runs with timestamps count under the lock, and end with an error if an update is lost.
#[test]
fn peers_without_pointers_exclude_processes() {
    let cells = ["throughput", "--processes", "--lock", "hapax,twa", "--children", "2,5", "--nonhold", "0"];
    let record = record(&[&cells[..], &["--hold", "100ns", "--run", "10ms", "--seconds", "1"]].concat());
    let rows = results(&record);
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row["processes"] == true && number(row, "throughput_per_s") > 0.0), "{record}");
}

#[test]
fn readers_share_the_lock_and_writers_do_not() {
    let record = record(&[
        "throughput",
        "--share",
        "0,100",
        "--children",
        "2",
        "--nonhold",
        "0",
        "--hold",
        "10us",
        "--run",
        "10ms",
    ]);
    let rows: Vec<&Value> = results(&record).iter().collect();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row["lock"].as_str().unwrap().starts_with("rwlock")));
    assert!(rows.iter().filter(|row| row["share"] == 100).all(|row| number(row, "write_contended_share") == 0.0));
}

#[test]
fn every_lock_is_measured_and_collapse_is_reported() {
    let record = record(&[
        "throughput",
        "--lock",
        "all",
        "--children",
        "100",
        "--nonhold",
        "5us",
        "--hold",
        "1us",
        "--run",
        "5ms",
        "--seconds",
        "15",
    ]);
    let has = |lock: &str| results(&record).iter().any(|row| row["lock"] == lock);
    for lock in
        ["sysv", "usema", "calock-spin", "benaphore", "posix", "pthread-pi", "parking_lot-fair", "rwlock-fair", "none"]
    {
        assert!(has(lock), "{lock} is missing");
    }
    let left_out = record["warnings"].as_array().unwrap().iter().filter(|warning| warning["code"] == "left_out");
    let left_out: Vec<&str> = left_out.map(|warning| warning["what"].as_str().unwrap()).collect();
    if !has("mcs") {
        assert!(left_out.iter().any(|what| what.contains("mcs")), "{left_out:?}");
    }
}

#[test]
fn variations_of_the_loop_are_in_the_rows() {
    let all = "throughput --lock std,reciprocating --children 4 --nonhold 0 --hold 1us --run 50ms --seconds 3 \
               --locks 8 --zipf 1 --hold-ratio 3 --touch 0,16 --ramp --stop-holder 10ms";
    let record = record(&all.split_whitespace().collect::<Vec<_>>());
    // Two locks, each with two numbers of lines.
    assert_eq!(results(&record).len(), 4);
    for row in results(&record) {
        assert!([0, 16].contains(&row["touched_lines"].as_u64().unwrap()), "{row}");
        assert_eq!((number(row, "hold_ratio"), number(row, "zipf_exponent"), number(row, "stop_us")), (3.0, 1.0, 1e4));
        let steps: Vec<_> = row["steps"].as_array().unwrap().iter().map(|step| step["children"].as_u64()).collect();
        assert_eq!(steps, [1, 2, 4, 2, 1].map(Some), "{row}");
        let shares = ["held_least_share", "held_most_share", "held_long_share"].map(|field| number(row, field));
        assert!(
            shares[0] <= 0.25 && shares[1] >= 0.25 && shares.iter().all(|share| (0.0..=1.0).contains(share)),
            "{row}"
        );
        assert!((0.0..=1.0).contains(&number(row, "recovery_failed_share")), "{row}");
        assert!(row["ideal_per_s"].is_null() && !row["recovery_curve"].as_array().unwrap().is_empty(), "{row}");
    }
}

/// The children of 2002 hold equally long, so the record has none of the values of variations.
#[test]
fn loop_of_2002_has_no_variations() {
    let record = record(&["throughput", "--lock", "std", "--children", "2", "--hold", "1us", "--run", "5ms"]);
    let row = results(&record).first().unwrap();
    assert_eq!((number(row, "hold_ratio"), number(row, "touched_lines"), number(row, "stop_us")), (1.0, 0.0, 0.0));
    assert!(row["steps"].as_array().unwrap().is_empty() && row["held_long_share"].is_null(), "{row}");
    let sum = number(row, "held_least_share") + number(row, "held_most_share");
    assert!((sum - 1.0).abs() < 0.5, "medians of two shares that add up to 1 in each run: {row}");
}

/// Each question is a configuration of all locks, and the overview has a column for each.
#[test]
fn questions_are_configurations_with_an_overview() {
    let cpu = first_cpu();
    let output = contend(&[
        "throughput",
        "--questions",
        "--lock",
        "std,parking_lot",
        "--cpus",
        &cpu,
        "--run",
        "50ms",
        "--quiet",
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let overview = text.split("All configurations: ").nth(1).unwrap_or_else(|| panic!("{text}"));
    for line in [
        "1: 2 threads, 1 lock, 0+1 µs",
        "2: 8 threads, 1 lock, 0+1 µs",
        "3: 2 threads, 1 lock, 0+1 µs, holds 1:10",
        "4: 2 threads, 1 lock, 0+0 µs, 256 lines touched",
        "5: 8 threads, 64 locks, 0+1 µs, drawn by Zipf 1",
        "6: 16 threads, 1 lock, 0+1 µs, ramp",
        "7: 4 threads, 1 lock, 0+1 µs, holder stopped 10.0 ms",
    ] {
        assert!(overview.contains(line), "no {line} in\n{text}");
    }
    let shares = |lock: &str| overview.lines().any(|line| line.starts_with(lock) && line.matches('.').count() == 7);
    assert!(shares("std ") && shares("parking_lot "), "{text}");
}

#[test]
fn the_layout_of_2002_has_its_columns() {
    let output = contend(&[
        "throughput",
        "--lock",
        "usema-spin,std",
        "--children",
        "1",
        "--run",
        "5ms",
        "--format",
        "ulockflex",
        "--quiet",
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("c a t i L p r x WC RC R COV ThPut"));
    for line in lines {
        assert_eq!(line.split(' ').count(), 13, "{line}");
        assert!(line.contains(" F 3 ") || line.contains(" std 0 "), "{line}");
    }
}
