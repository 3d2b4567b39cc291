//! `contend noise --wake`: the wake-up latency of a thread; and `--stop-above`, for gaps and for wake-ups.

use crate::command::{contend, read, record, results};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

/// Asserts that a row is complete and consistent.
fn check(row: &Value) {
    assert_eq!(row["scenario"], "wake");
    let late =
        ["late_min_us", "late_p50_us", "late_p99_us", "late_p999_us", "late_max_us"].map(|field| number(row, field));
    assert!(late[0] >= 0.0 && late.is_sorted(), "{late:?}");
    let count = row["count"].as_u64().unwrap();
    let binned: u64 = row["histogram"].as_array().unwrap().iter().map(|bin| bin["count"].as_u64().unwrap()).sum();
    assert!(count > 0 && binned == count, "{count} {binned}");
    let spikes = row["spikes"].as_array().unwrap();
    let letters: Vec<&str> = spikes.iter().map(|spike| spike["label"].as_str().unwrap()).collect();
    assert!(letters.is_empty() || letters[0] == "A", "{letters:?}");
    if row["evidence"] == "cpu_record" {
        let share: f64 = row["causes"].as_array().unwrap().iter().map(|cause| number(cause, "share")).sum();
        assert!((share - 1.0).abs() < 1e-6, "{share}");
        assert!(!row["latest"][0]["story"].as_array().unwrap().is_empty(), "{row}");
    }
}

#[test]
fn every_interval_has_a_row_with_latency_spikes_and_causes() {
    let record = record(&["noise", "--wake", "2ms,500us", "--seconds", "2", "--histogram"]);
    let rows = results(&record);
    let intervals: Vec<f64> = rows.iter().map(|row| number(row, "interval_us")).collect();
    assert_eq!(intervals, [500.0, 2_000.0]);
    rows.iter().for_each(check);
    for row in rows {
        let by_us = row["late_by_us"].as_array().unwrap();
        assert_eq!(by_us.iter().map(|bin| number(bin, "count")).sum::<f64>(), number(row, "count"));
    }
    assert!(rows.iter().all(|row| row["policy"] == "other" && row["timer"] == "clock_nanosleep"));
    assert_eq!(record["parameters"]["wake"]["intervals_us"], serde_json::json!([500.0, 2_000.0]));
}

#[test]
fn every_timer_and_every_named_cpu_has_a_row() {
    let cpus: Vec<usize> = instruments::cpus::allowed().unwrap().iter().collect();
    let list = cpus.iter().take(2).map(usize::to_string).collect::<Vec<_>>().join(",");
    for timer in ["timerfd", "futex"] {
        let record = record(&["noise", "--wake", "1ms", "--timer", timer, "--cpus", &list, "--seconds", "1"]);
        let found: Vec<u64> = results(&record).iter().map(|row| row["cpu"].as_u64().unwrap()).collect();
        assert_eq!(found.len(), cpus.len().min(2), "{timer}");
        results(&record).iter().for_each(check);
        assert!(results(&record).iter().all(|row| row["timer"] == timer));
    }
}

#[test]
fn policy_is_granted_or_refused_with_the_requirement() {
    for policy in ["fifo:80", "deadline"] {
        let call = ["noise", "--wake", "1ms", "--policy", policy, "--seconds", "1", "--format", "json"];
        let output = contend(&call);
        if output.status.code() == Some(2) {
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(
                stderr.contains(&format!("--policy {policy}")) && stderr.contains("nothing was measured"),
                "{stderr}"
            );
            continue;
        }
        let record = read(&output.stdout);
        assert!(results(&record).iter().all(|row| row["policy"] == policy && number(row, "slack_us") == 0.0));
        results(&record).iter().for_each(check);
    }
}

#[test]
fn unprivileged_policy_is_refused_with_the_requirement() {
    if Command::new("setpriv").arg("--version").output().is_err() {
        println!("skipped: needs setpriv");
        return;
    }
    let output = Command::new("setpriv")
        .args(["--inh-caps=-sys_nice", "--bounding-set=-sys_nice", env!("CARGO_BIN_EXE_contend")])
        .args(["noise", "--wake", "1ms", "--policy", "fifo:80", "--seconds", "1"])
        .env("CONTEND_ARCHIVE", "")
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    if stderr.starts_with("setpriv:") {
        println!("skipped: needs the right to drop a capability");
        return;
    }
    assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{stderr}");
    assert!(stderr.contains("--policy fifo:80") && stderr.contains("nothing was measured"), "{stderr}");
}

/// No machine runs for long without a gap or a wake-up latency of a microsecond.
#[test]
fn first_event_beyond_the_limit_ends_the_run_with_timeline() {
    let wake = &["noise", "--wake", "1ms", "--stop-above", "1us", "--seconds", "30"][..];
    let gaps = &["noise", "--stop-above", "1us", "--seconds", "30"][..];
    for (call, length) in [(wake, "late_us"), (gaps, "length_us")] {
        let output = contend(&[call, &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
        let record = read(&output.stdout);
        // The time that contend's own competitor takes does not count as an event.
        let [row] = results(&record) else { panic!("{record}") };
        assert!(["quiet", "wake"].contains(&row["scenario"].as_str().unwrap()), "{row}");
        assert!(number(&row["stopped"], length) > 1.0, "{row}");
        if row["evidence"] == "cpu_record" {
            assert!(!row["stopped"]["story"].as_array().unwrap().is_empty(), "{row}");
        }
        let text = String::from_utf8(contend(call).stdout).unwrap();
        assert!(text.contains("Stopped at") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn signal_is_the_planned_end_of_an_endless_run() {
    crate::command::heard::interrupts();
    let mut child = Command::new(env!("CARGO_BIN_EXE_contend"))
        .env("CONTEND_ARCHIVE", "")
        .args(["noise", "--until-signal", "--interval", "50ms", "--view", "json", "--output", "-", "--quiet"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.contains("quiet"), "{line}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    while lines.read_line(&mut line).unwrap() > 0 {}
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
