//! `contend history trend` through its binary, on archives that the test wrote.

use crate::command::archive::{Archive, has_git};
use crate::command::stored::uncontended;
use serde_json::{Value, json};

fn latency(median_ns: f64, kernel: &str) -> Value {
    let mut record = uncontended();
    record["environment"]["kernel"]["release"] = json!(kernel);
    record["warnings"] = json!([]);
    for row in record["results"].as_array_mut().unwrap() {
        row["p50_ns"] = json!(median_ns);
        row["p50_ci_ns"] = json!([median_ns * 0.999, median_ns * 1.001]);
        row["resolution_ns"] = json!(0.1);
    }
    record
}

const CELL: &str = "latency: std, 1 thread: round trip, median";

/// Returns a value with a scatter of one per cent, the same in every test.
fn scattered(ns: f64, place: usize) -> f64 {
    ns * (1.0 + 0.01 * [0.3, -0.8, 1.1, -0.2, 0.6, -1.2, 0.1, 0.9, -0.5, -0.9][place % 10])
}

fn stdout_of(archive: &Archive, arguments: &[&str]) -> String {
    let output = archive.contend(&[&["history", "trend"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn answer(archive: &Archive, arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout_of(archive, &[arguments, &["--format", "json"]].concat())).unwrap()
}

#[test]
fn step_is_found_with_simultaneous_changes() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let ids: Vec<String> = (0..16)
        .map(|place| {
            let (ns, kernel) = if place < 9 { (1_000.0, "6.1") } else { (1_200.0, "6.2") };
            archive.insert(&latency(scattered(ns, place), kernel))
        })
        .collect();
    let found = answer(&archive, &[CELL]);
    let levels = found["levels"].as_array().unwrap();
    assert_eq!(levels.len(), 2, "{found}");
    assert_eq!(levels[1]["first_record"], json!(ids[9]));
    let ends = levels[1]["ratio_ci"].as_array().unwrap();
    assert!(ends[0].as_f64().unwrap() < 1.2 && ends[1].as_f64().unwrap() > 1.2, "{found}");
    assert_eq!(levels[1]["changed"], json!([{"name": "kernel.release", "values": ["6.1", "6.2"]}]));
    let text = stdout_of(&archive, &[CELL]);
    let levels = [format!("(A) {}", &ids[0][..10]), format!("(B) {}", &ids[9][..10])];
    for word in levels.iter().map(String::as_str).chain(["changed at the same time", "6.1 → 6.2", "1.20×"]) {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let drawn = |letter: char| text.lines().any(|line| line.contains('|') && line.contains(letter));
    assert!(drawn('A') && drawn('B'), "{text}");
    assert_eq!(stdout_of(&archive, &[CELL, "--format", "csv"]).lines().count(), 17);
    // Only the selected records.
    let late = answer(&archive, &[CELL, "--since", "2023-11-15"]);
    assert!(late["points"].as_array().unwrap().len() < 16, "{late}");
}

#[test]
fn scatter_is_not_a_step() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    for place in 0..12 {
        archive.insert(&latency(scattered(1_000.0, place), "6.1"));
    }
    assert!(stdout_of(&archive, &[CELL]).contains("No step was detected."));
}

#[test]
fn unique_part_of_a_name_selects_a_series() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    archive.insert(&latency(1_000.0, "6.1"));
    let list = stdout_of(&archive, &[]);
    assert!(list.contains(CELL) && list.contains("model frames: "), "{list}");
    assert!(!stdout_of(&archive, &["--experiment", "latency"]).contains("model frames"));
    assert!(stdout_of(&archive, &["ROUND TRIP"]).contains(CELL));
    let ambiguous = archive.contend(&["history", "trend", "std"]);
    let stderr = String::from_utf8_lossy(&ambiguous.stderr);
    assert!(ambiguous.status.code() == Some(2) && stderr.contains(CELL), "{stderr}");
    let unknown = archive.contend(&["history", "trend", "cooking"]);
    let stderr = String::from_utf8_lossy(&unknown.stderr);
    assert!(unknown.status.code() == Some(1) && stderr.contains("lists them"), "{stderr}");
}

#[test]
fn different_work_is_a_separate_series() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    archive.insert(&latency(1_000.0, "6.1"));
    let mut longer = latency(2_000.0, "6.1");
    longer["results"].as_array_mut().unwrap().iter_mut().for_each(|row| row["hold_us"] = json!(2.0));
    archive.insert(&longer);
    let mut newer = latency(3_000.0, "6.1");
    newer["schema"] = json!("contend/2");
    archive.insert(&newer);
    let found = answer(&archive, &["hold 2.00 µs: round trip, median"]);
    assert_eq!(found["points"].as_array().unwrap().len(), 1);
    assert_eq!(found["unreadable"], json!(1));
}

#[test]
fn trend_without_an_archive_is_refused() {
    let output = crate::command::contend(&["history", "trend"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains("--archive"), "{stderr}");
}

/// The trend accepts the names that a comparison prints, also where the archive distinguishes more, and with `us` for
/// `µs`.
#[test]
fn trend_accepts_the_names_of_a_comparison() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let other_hold = |record: Value| {
        let text = record.to_string().replace("\"hold_us\":1.0", "\"hold_us\":2.0");
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let records = [latency(1_000.0, "6.1"), latency(1_100.0, "6.1"), other_hold(latency(2_000.0, "6.1"))];
    let ids: Vec<String> = records.iter().map(|record| archive.insert(record)).collect();
    let compared = archive.contend(&["compare", &ids[0], &ids[1]]);
    let compared = String::from_utf8(compared.stdout).unwrap();
    let name = compared.lines().find(|line| line.ends_with("round trip, median")).expect(&compared);
    let refused = archive.contend(&["history", "trend", name]);
    // Two hold times are two series: the answer names both, each with its difference.
    let refused = String::from_utf8(refused.stderr).unwrap();
    let named: Vec<&str> = refused.lines().filter_map(|line| line.strip_prefix("  latency: ")).collect();
    assert_eq!(named.len(), 2, "{name}: {refused}");
    for full in named {
        assert_eq!(answer(&archive, &[full])["points"], answer(&archive, &[&full.replace('\u{b5}', "u")])["points"]);
    }
    let (cell, figure) = name.split_once(": ").unwrap();
    let typed = format!("{cell}, hold 2.00 us: {figure}");
    assert_eq!(answer(&archive, &[&typed])["points"].as_array().unwrap().len(), 1, "{typed}");
}
