//! `contend noise --cpus`: a sampling thread on each of several CPUs.

use crate::command::{contend, record, results};
use serde_json::Value;
use std::ffi::OsStr;
use std::process::Command;

/// Returns the CPUs of this process; `None`, with a message, with fewer than two.
fn cpus() -> Option<Vec<usize>> {
    let cpus: Vec<usize> = instruments::cpus::allowed().unwrap().iter().collect();
    if cpus.len() < 2 {
        println!("skipped: needs two CPUs");
        return None;
    }
    Some(cpus)
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

#[test]
fn every_cpu_has_a_row_with_all_fields() {
    let Some(cpus) = cpus() else { return };
    let list = format!("{},{}", cpus[0], cpus[1]);
    let record = record(&["noise", "--cpus", &list, "--seconds", "2"]);
    let of: Vec<_> = results(&record).iter().map(|row| row["cpu"].as_u64().unwrap() as usize).collect();
    assert_eq!(of, cpus[..2]);
    for row in results(&record) {
        assert_eq!(row["scenario"], "quiet");
        let counts = ["gaps", "over_1us", "over_10us", "over_100us", "over_1ms"].map(|field| number(row, field));
        assert!(counts.is_sorted_by(|more, fewer| more >= fewer), "{counts:?}");
        assert!((0.0..=1.0).contains(&number(row, "lost_share")) && number(row, "span_s") > 0.0, "{row}");
        let bins = row["lost_by_time"].as_array().unwrap();
        assert!((1..=60).contains(&bins.len()), "{}", bins.len());
        // The map shows the time that the gaps took. Each bin is a sixtieth of the requested time, except the last one,
        // which ends with the last repetition: earlier, or at most a tenth of the requested time later.
        let shares: Vec<f64> = bins.iter().filter_map(Value::as_f64).collect();
        let (last, whole) = shares.split_last().unwrap();
        let bin_s = 2.0 / 60.0;
        let mapped = whole.iter().sum::<f64>() * bin_s;
        let last_s = if shares.len() == 60 { bin_s + 0.2 } else { bin_s };
        let lost = number(row, "lost_share") * number(row, "span_s");
        let tolerance = 0.02 * lost.max(1e-3);
        let in_last = lost - mapped;
        assert!((-tolerance..=last * last_s + tolerance).contains(&in_last), "{mapped} of {lost}, then {last}");
        assert!(row["together"]["gaps"].as_u64().unwrap() <= row["gaps"].as_u64().unwrap(), "{row}");
        assert!(
            ["housekeeping", "isolated", "nohz_full"]
                .iter()
                .any(|kind| row["role"].as_str().unwrap().starts_with(kind))
        );
    }
}

/// A screen draws a column for each line of the stream.
#[test]
fn each_piece_is_reported_once_to_the_live_view() {
    let Some(cpus) = cpus() else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    let noise = format!("noise --cpus {},{} --seconds 0.8 --format json", cpus[0], cpus[1]);
    let lines = Command::new("sh")
        .args(["-c", &format!("exec \"$0\" {noise} --live-to=3 3>&1 >\"$1\"")])
        .args([OsStr::new(env!("CARGO_BIN_EXE_contend")), file.path().as_os_str()])
        .env("CONTEND_ARCHIVE", "")
        .output()
        .unwrap();
    let record = crate::command::read(&std::fs::read(file.path()).unwrap());
    let lines: Vec<Value> =
        lines.stdout.split(|byte| *byte == b'\n').filter_map(|it| serde_json::from_slice(it).ok()).collect();
    for row in results(&record) {
        let of_cpu = lines.iter().filter(|line| line["column"] == format!("CPU {}", row["cpu"]).as_str());
        // Repetitions of less than a second are of one piece.
        assert_eq!(of_cpu.count(), row["turns"].as_array().unwrap().len(), "{lines:?}");
    }
}

#[test]
fn text_has_a_line_per_cpu_and_a_map_within_80_columns() {
    let Some(cpus) = cpus() else { return };
    let output = contend(&["noise", "--cpus", "all", "--seconds", "1", "--quiet"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("Best: CPU") || text.contains("No CPU is shown to lose less or more"), "{text}");
    assert!(text.contains("CPU time lost in each part of the run"), "{text}");
    // One CPU of three or more is left to the system.
    let read = if cpus.len() < 3 { cpus.len() } else { cpus.len() - 1 };
    // A CPU that other programs took for the whole second has no line.
    let lines = text.lines().filter(|line| line.starts_with("CPU") && line.ends_with('|')).count();
    assert!((1..=read).contains(&lines), "{text}");
}
