//! The page of one record: its findings, pictures, tables, warnings and method.

use super::well_formed::assert_well_formed;
use crate::command::contend;
use crate::command::report::{page, records, written};
use crate::command::stored::{latency, named, of_survey};
use serde_json::{Value, json};

#[test]
fn every_experiment_has_a_complete_page() {
    for (name, record) in records() {
        let page = page(&[&record]);
        assert_well_formed(&page);
        assert!(page.len() < 1_000_000, "{name}: {} bytes", page.len());
        let places: Vec<&str> = page.split("<section class=\"figure\">").skip(1).collect();
        assert!(places.iter().any(|figure| figure.contains("<svg")), "{name} has no picture");
        for figure in places {
            assert!(figure.contains("<table>") && figure.contains("class=\"permalink\""), "{name}: {figure}");
        }
        let overview = page.split("<section class=\"overview\">").nth(1).unwrap().split("<nav").next().unwrap();
        assert!(overview.contains("<p class=\"verdict\">") || overview.contains("<li>"), "{name}: {overview}");
        assert!(page.contains("<a href=\"#method-") && page.contains("<article id=\"method-"), "{name}");
    }
}

#[test]
fn noise_has_a_timeline_of_its_longest_gaps() {
    let mut noise = named("noise");
    let gap = |kind: &str, name: &str| json!({"start_s": 0.25, "length_us": 7.5, "kind": kind, "name": name, "pid": null, "cause_us": 7.0});
    noise["results"][0]["longest_gaps"] = json!([gap("interrupt", "local_timer"), gap("task", "kworker")]);
    let whole = page(&[&noise]);
    assert_well_formed(&whole);
    let mut figures = whole.split("<section class=\"figure\">").skip(1);
    let figure = figures.find(|figure| figure.contains("quiet: the longest gaps")).unwrap();
    for part in ["<circle", "interrupt local_timer</text>", "task kworker</text>", "0.250000 s", "\"mark\":\"points\""]
    {
        assert!(figure.contains(part), "{part} is missing in {figure}");
    }
    // A record of a version without these.
    noise["results"][0].as_object_mut().unwrap().remove("longest_gaps");
    assert!(!page(&[&noise]).contains("quiet: the longest gaps"));
}

#[test]
fn environment_and_warnings_are_visible() {
    let mut record = latency();
    record["warnings"] = json!([{"code": "smoke", "message": "it smokes", "remedy": "open a window"}]);
    let page = page(&[&record]);
    for text in ["it smokes", "open a window", "[smoke]", "kernel.release", "contend latency --lock std"] {
        assert!(page.contains(text), "{text} is missing");
    }
}

#[test]
fn end_of_an_interval_below_the_resolution_is_not_a_value() {
    let mut record = latency();
    for row in record["results"].as_array_mut().unwrap() {
        for (field, value) in [("resolution_ns", 10.0), ("accuracy_ns", 1.0), ("p90_ns", 50.0)] {
            row[field] = json!(value);
        }
        row["p90_ci_ns"] = json!([0.4, 60.0]);
    }
    let page = page(&[&record]);
    assert!(page.contains("50.0 ns (&lt; 10.0 ns–60.0 ns)"), "{:?}", page.find("50.0 ns"));
}

#[test]
fn single_picture_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let record = written(&folder, "record.json", latency().to_string());
    let picture = |title: &str| contend(&["report", record.to_str().unwrap(), "--picture", title]);
    let one = picture("std, 1 thread: locking");
    let svg = String::from_utf8(one.stdout).unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.contains("<style>") && svg.contains("<title>std, 1 thread: locking"),
        "{svg}"
    );
    assert!(svg.contains("class=\"spike\"") && svg.contains(">A "), "its spikes are named: {svg}");
    assert_eq!(svg.matches('<').count(), svg.matches('>').count());
    for (title, word) in [("std", "several charts match"), ("cooking", "the record has \"")] {
        let refused = picture(title);
        let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && stderr.contains(word) && refused.stdout.is_empty(), "{stderr}");
    }
}

/// A run that was too short for a confidence interval, and one that measured nothing.
#[test]
fn chart_without_values_is_drawn_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let picture = |record: &Value, title: &str| {
        let file = written(&folder, "record.json", record.to_string());
        let output = contend(&["report", file.to_str().unwrap(), "--picture", title]);
        assert!(output.status.success(), "{title}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let throughput = of_survey("throughput", |_| true);
    let grid = picture(&throughput, "Ranking by configuration");
    assert!(grid.contains("–: no confidence interval") && grid.contains(">usema</text>"), "{grid}");
    let ranking = picture(&throughput, "2 threads, 1 lock, 7+3 µs: loops/s, best first");
    assert!(ranking.contains("–. usema") && ranking.contains("–: no rank (no confidence interval"), "{ranking}");
    let mut ring = named("ring");
    ring["results"].as_array_mut().unwrap().retain(|row| row["contestant"] == "rust-fifo");
    for row in ring["results"].as_array_mut().unwrap() {
        row.as_object_mut().unwrap().retain(|field, _| !field.starts_with("ns_per_hop"));
    }
    let bars = picture(&ring, "A hop, pinned to one CPU");
    assert!(bars.contains("rust-fifo") && bars.contains(": not measured</text>"), "{bars}");
    let mut latency = latency();
    latency["results"].as_array_mut().unwrap().iter_mut().for_each(|row| row["histogram"] = json!([]));
    let empty = picture(&latency, "std, 1 thread: locking");
    assert!(empty.contains("No chart: no value was measured"), "{empty}");
}

#[test]
fn the_same_records_give_the_same_page() {
    let record = latency();
    assert_eq!(page(&[&record]), page(&[&record]));
}

#[test]
fn a_record_is_never_markup() {
    const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'";
    let mut record = latency();
    for row in record["results"].as_array_mut().unwrap() {
        row["lock"] = json!(EVIL);
        for spike in row["spikes"].as_array_mut().unwrap() {
            spike["label"] = json!("<");
            spike["cause"] = json!(EVIL);
        }
    }
    record["warnings"] = json!([{"code": EVIL, "message": EVIL, "remedy": EVIL}]);
    record["environment"]["cpu"]["model"] = json!(EVIL);
    record["environment"]["command_line"] = json!([EVIL]);
    record["environment"][EVIL] = json!(EVIL);
    let page = page(&[&record, &latency()]);
    assert_well_formed(&page);
    assert!(!page.contains("<img") && !page.contains("<script>alert") && page.contains("&lt;img"), "it is markup");
}
