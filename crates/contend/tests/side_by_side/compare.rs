//! `contend compare` through its binary. Where a verdict is asserted, the figures are written by the test.

use crate::command::archive::{Archive, has_git};
use crate::command::{contend, record};
use serde_json::{Value, json};
use std::process::Output;
use std::sync::OnceLock;
use tempfile::TempDir;

fn measured() -> &'static Value {
    static RECORD: OnceLock<Value> = OnceLock::new();
    RECORD.get_or_init(|| record(&["latency", "--lock", "std", "--threads", "1", "--hold", "1us", "--seconds", "0.2"]))
}

/// A run with these medians, in ns, each with an interval of half a per cent to both sides.
fn latency(lock_ns: f64, round_trip_ns: f64) -> Value {
    let mut record = measured().clone();
    record["warnings"] = json!([]);
    for row in record["results"].as_array_mut().unwrap() {
        let median = if row["operation"] == "lock" { lock_ns } else { round_trip_ns };
        row["p50_ns"] = json!(median);
        row["p50_ci_ns"] = json!([median * 0.995, median * 1.005]);
        row["p999_ns"] = json!(median * 10.0);
        row["p999_ci_ns"] = json!([median * 9.0, median * 11.0]);
        row["bare_pair_ns"] = json!(20.0);
        row["bare_pair_ci_ns"] = json!([19.9, 20.1]);
        row["resolution_ns"] = json!(1.0);
    }
    // Runs of the same are not the same run.
    record["environment"]["seed"] = json!((lock_ns * 1e3 + round_trip_ns * 1e6) as u64);
    record
}

fn files(records: &[&Value]) -> (TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let file = |(place, record): (usize, &&Value)| {
        let path = folder.path().join(format!("{place}.json"));
        std::fs::write(&path, record.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let paths = records.iter().enumerate().map(file).collect();
    (folder, paths)
}

fn compared(a: &Value, b: &Value, flags: &[&str]) -> Output {
    let (_folder, paths) = files(&[a, b]);
    contend(&[&["compare", &paths[0], &paths[1]], flags].concat())
}

fn text(a: &Value, b: &Value) -> String {
    let output = compared(a, b, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn answer(a: &Value, b: &Value) -> Value {
    let output = compared(a, b, &["--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn verdict<'a>(answer: &'a Value, figure: &str) -> &'a str {
    let line = answer["cells"].as_array().unwrap().iter().find(|line| line["figure"] == figure);
    line.unwrap_or_else(|| panic!("{figure} in {answer}"))["verdict"].as_str().unwrap()
}

#[test]
fn a_hold_that_is_a_tenth_longer_is_found_and_the_rest_is_not_different() {
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
fn what_runs_of_the_same_differ_by_is_no_difference() {
    let said = text(&latency(100.0, 1_130.0), &latency(103.0, 1_155.0));
    assert!(said.contains("4 figures: 4 no difference shown."), "{said}");
}

#[test]
fn more_loops_are_faster_and_fewer_are_slower() {
    let mut a = record(&["throughput", "--lock", "std", "--children", "1", "--run", "20ms", "--seconds", "0.2"]);
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
    // Rates of a run in which others had half of the CPUs say little.
    let mut disturbed = with(2e6);
    disturbed["warnings"] = json!([{"code": "other_load", "share": 0.5, "message": "m", "remedy": "r"}]);
    let found = answer(&with(1e6), &disturbed);
    assert_eq!(verdict(&found, "loops"), "no difference shown");
    assert!(found["cautions"][0].as_str().unwrap().contains("50.0 %"), "{found}");
}

#[test]
fn a_limit_is_exceeded_by_the_interval_and_not_by_the_point() {
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
fn a_cell_of_one_side_is_neither_pass_nor_regression() {
    let a = latency(100.0, 1_130.0);
    let mut b = latency(101.0, 1_131.0);
    let mut other = b["results"].as_array().unwrap().clone();
    other.iter_mut().for_each(|row| row["lock"] = json!("fresh"));
    b["results"].as_array_mut().unwrap().extend(other);
    let said = text(&a, &b);
    assert!(said.contains("not measured in A: 4\n") && said.contains("fresh, 1 thread"), "{said}");
    assert!(text(&b, &a).contains("not measured in B: 4\n"));
    assert_eq!(compared(&a, &b, &["--fail-if", "differs:0%"]).status.code(), Some(0));
    b["results"].as_array_mut().unwrap().retain(|row| row["lock"] == "fresh");
    let nothing = compared(&a, &b, &[]);
    let stderr = String::from_utf8_lossy(&nothing.stderr);
    assert!(
        nothing.status.code() == Some(1) && stderr.contains("no cell in common") && stderr.contains("fresh"),
        "{stderr}"
    );
}

#[test]
fn what_varies_within_a_record_names_its_cells() {
    let a = latency(100.0, 1_130.0);
    let mut b = latency(100.0, 1_131.0);
    let mut longer = b["results"].as_array().unwrap().clone();
    longer.iter_mut().for_each(|row| row["hold_us"] = json!(2.0));
    b["results"].as_array_mut().unwrap().extend(longer);
    let said = text(&a, &b);
    assert!(said.contains("std, 1 thread, hold 1.00 µs: lock, median"), "{said}");
    assert!(said.contains("not measured in A: 4\n") && said.contains("std, 1 thread, hold 2.00 µs"), "{said}");
}

#[test]
fn another_machine_is_told_before_anything_else() {
    let (a, mut b) = (latency(100.0, 1_130.0), latency(100.0, 1_131.0));
    b["environment"]["cpu"]["model"] = json!("Another CPU");
    b["environment"]["kernel"]["release"] = json!("99.1-other");
    let said = text(&a, &b);
    let places = ["different machines", "99.1-other", "no difference shown: 4"].map(|word| said.find(word));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80 || !line.contains("environment")), "{said}");
}

#[test]
fn a_survey_is_compared_with_one_of_its_experiments() {
    let a = latency(100.0, 1_130.0);
    let mut survey = latency(101.0, 1_130.0);
    survey["experiment"] = json!("survey");
    let clock = record(&["clock", "--seconds", "0.2"]);
    let tagged = |record: &Value, experiment: &str| {
        let mut rows = record["results"].as_array().unwrap().clone();
        rows.iter_mut().for_each(|row| row["experiment"] = json!(experiment));
        rows
    };
    survey["results"] = Value::from([tagged(&survey, "latency"), tagged(&clock, "clock")].concat());
    let said = text(&a, &survey);
    assert!(said.contains("4 figures: 4 no difference shown."), "{said}");
    assert!(text(&survey, &clock).contains("effective MHz"));
}

#[test]
fn every_experiment_can_be_compared() {
    let calls: [&[&str]; 7] = [
        &["clock", "--seconds", "0.2"],
        &["latency", "--lock", "std", "--threads", "2", "--seconds", "0.2"],
        &["throughput", "--lock", "std", "--children", "2", "--run", "20ms", "--seconds", "0.3"],
        &["noise", "--scenario", "quiet", "--seconds", "0.3"],
        &["load", "--seconds", "0.5"],
        &["ring", "--contestant", "rust-fifo", "--seconds", "0.1", "--large", "0", "--no-memory"],
        &["model", "frames"],
    ];
    let records: Vec<Value> = std::thread::scope(|scope| {
        let runs: Vec<_> = calls.iter().map(|call| scope.spawn(|| record(call))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for (call, a) in calls.iter().zip(&records) {
        let mut b = a.clone();
        b["environment"]["seed"] = json!(1);
        let found = answer(a, &b);
        let cells = found["cells"].as_array().unwrap();
        assert!(!cells.is_empty(), "{call:?}");
        for line in cells {
            let same = ["no difference shown", "not judged"].contains(&line["verdict"].as_str().unwrap());
            assert!(same && line["ratio"].as_f64().is_none_or(|ratio| ratio == 1.0), "{call:?}: {line}");
        }
        assert!(found["environment"].as_array().unwrap().is_empty(), "{call:?}: {found}");
    }
}

/// A hop of seven cycles on a core at this frequency, whatever others took of it.
fn ring(ghz: f64) -> Value {
    let mut record: Value = serde_json::from_str(include_str!("../records/ring.json")).unwrap();
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
fn a_core_at_another_frequency_is_named_and_its_cycles_are_no_difference() {
    let (fast, slow) = (ring(4.0), ring(2.0));
    let found = answer(&fast, &slow);
    assert_eq!(verdict(&found, "a hop"), "slower");
    assert_eq!(verdict(&found, "a hop in cycles, alone on the core"), "no difference shown");
    let said = found["cautions"].to_string();
    assert!(said.contains("4.00 GHz in A and 2.00 GHz in B: by that alone times are 2.00×"), "{said}");
    // Within what every core's frequency moves by, nothing is said of it.
    let said = answer(&fast, &ring(3.96))["cautions"].to_string();
    assert!(!said.contains("GHz"), "{said}");
}

#[test]
fn rows_have_a_line_for_each_figure() {
    let (a, b) = (latency(100.0, 1_130.0), latency(100.0, 1_300.0));
    let rows = String::from_utf8(compared(&a, &b, &["--format", "csv"]).stdout).unwrap();
    let header = rows.lines().next().unwrap();
    for column in ["cell", "figure", "unit", "a", "a_ci_low", "ratio_ci_high", "verdict"] {
        assert!(header.split(',').any(|name| name == column), "{column} in {header}");
    }
    assert_eq!(rows.lines().count(), 5);
}

#[test]
fn what_cannot_be_compared_is_refused() {
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
        (&["compare", good, &paths[1]], 2, "nothing in common"),
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

#[test]
fn records_of_an_archive_are_called_by_their_names() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let first = archive.insert(&latency(100.0, 1_130.0));
    archive.insert(&latency(100.0, 1_240.0));
    let output = archive.contend(&["compare", &first[..8], "last"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains(&first[..10]) && said.contains("slower: 1"), "{said}");
    assert_eq!(archive.contend(&["compare", "last~1", "last", "--fail-if", "slower:3%"]).status.code(), Some(3));
    for (name, word) in [("nonsense", "nonsense"), ("last~9", "last~9")] {
        let output = archive.contend(&["compare", "last", name]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && stderr.contains(word), "{stderr}");
    }
    assert_eq!(archive.contend(&["compare", "last", "last"]).status.code(), Some(2));
}

#[test]
fn a_record_that_was_edited_is_told() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let (one, other) = (latency(100.0, 1_130.0), latency(100.0, 1_131.0));
    let ids = [archive.insert(&one), archive.insert(&other)];
    // A file of a run that is kept, with other bytes.
    let kept = archive.contend(&["history", "export", &ids[0], "-"]);
    let edited = String::from_utf8(kept.stdout).unwrap().replace("1130.0", "1132.0");
    let file = archive.file("edited.json", &edited);
    let output = archive.contend(&["compare", &file, "last"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("changed by hand") && said.contains(&ids[0][..10]), "{said}");
    // An object of the archive whose content is another's: whole, and not what its name says.
    let object = |name: String| {
        let hash = archive.git(&["rev-parse", &name], "");
        archive.path.join("objects").join(&hash[..2]).join(&hash[2..])
    };
    for part in [":record.json", "^{tree}", ""] {
        let [own, others] = [&ids[0], &ids[1]].map(|id| object(format!("{id}{part}")));
        let kept = std::fs::read(&own).unwrap();
        std::fs::remove_file(&own).unwrap();
        std::fs::copy(others, &own).unwrap();
        let output = archive.contend(&["compare", &ids[0], "last"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && stderr.contains("changed by hand"), "{part}: {stderr}");
        std::fs::remove_file(&own).unwrap();
        std::fs::write(&own, kept).unwrap();
    }
    assert!(archive.contend(&["compare", &ids[0], "last"]).status.success());
}

#[test]
fn other_runs_in_the_archive_say_how_much_runs_differ() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let (a, b) = (latency(100.0, 1_130.0), latency(100.0, 1_240.0));
    let (a, b) = (archive.file("a.json", &a.to_string()), archive.file("b.json", &b.to_string()));
    let verdict = |archive: &Archive| {
        let output = archive.contend(&["compare", &a, &b, "--format", "json"]);
        verdict(&serde_json::from_slice(&output.stdout).unwrap(), "round trip, median").to_owned()
    };
    // The page of both must not say otherwise.
    let on_page = |archive: &Archive, verdict: &str| {
        let page = String::from_utf8(archive.contend(&["report", &a, &b]).stdout).unwrap();
        let line = page.split("<tr>").find(|line| line.contains(">round trip, median<")).unwrap().to_owned();
        assert!(line.contains(&format!(">{verdict}<")), "{line}");
    };
    assert_eq!(verdict(&archive), "slower");
    on_page(&archive, "slower");
    for place in 0..10 {
        archive.insert(&latency(100.0, if place % 2 == 0 { 900.0 } else { 1_240.0 }));
    }
    assert_eq!(verdict(&archive), "no difference shown");
    on_page(&archive, "no difference shown");
}
