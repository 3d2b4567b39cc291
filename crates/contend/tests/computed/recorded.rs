//! Views of stored records: the output of a measurement on its record.

use crate::command::archive::{Archive, has_git};
use crate::command::stored::{self, named};
use crate::command::{contend, results};
use serde_json::{Value, json};
use std::fs;

/// Passes the output of `contend history show` on every stored record, with these options.
fn each_shown(options: &[&str], check: impl Fn(&stored::Old, &str)) {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    for old in stored::all() {
        let id = archive.insert_bytes(&old.content);
        let output = archive.contend(&[&["history", "show", &id], options].concat());
        assert!(output.status.success(), "{}: {}", old.name(), String::from_utf8_lossy(&output.stderr));
        check(&old, &String::from_utf8(output.stdout).unwrap());
    }
}

/// A line of a trace may have the words of its program.
#[test]
fn texts_fit_eighty_columns_and_have_no_colour_in_a_pipe() {
    each_shown(&[], |old, text| {
        assert!(!text.contains('\x1b'), "{}", old.name());
        let wide = text.lines().skip_while(|line| !line.is_empty()).find(|line| line.chars().count() > 80);
        assert!(["trace", "preempted"].contains(&old.name()) || wide.is_none(), "{}: {wide:?}", old.name());
    });
}

#[test]
fn csv_has_the_columns_of_its_experiment() {
    each_shown(&["--format", "csv"], |old, text| {
        let header = text.lines().next().unwrap();
        let begin = match old.name() {
            "latency" => "lock,threads,competitors,",
            "load" => "measurement,time_s,cpu,load_share,",
            "ring" => "contestant,class,scheduler,threads,hops,answer,correct",
            _ => "",
        };
        assert!(header.starts_with(begin), "{}: {header}", old.name());
        assert!(old.name() != "latency" || header.contains(",p50_ci_ns_low,"), "{header}");
    });
}

#[test]
fn a_comparison_has_both_sides_within_80_columns() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["a.json", "b.json"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let mut record = stored::of_survey("latency", |_| true);
    for (seed, file) in files.iter().enumerate() {
        record["environment"]["seed"] = json!(seed);
        fs::write(file, record.to_string()).unwrap();
    }
    let text = |arguments: &[&str]| {
        let output = contend(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let output = text(&["compare", &files[0], &files[1]]);
    let wide: Vec<&str> = output.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    // No line of values was cut: each ends with the ratio of both sides.
    assert!(
        !output.lines().any(|line| line.starts_with("   ") && line.contains(" (") && line.ends_with('…')),
        "{output}"
    );
    assert!(output.lines().filter(|line| line.contains("× (")).count() > 4, "{output}");
    let markdown = text(&["compare", &files[0], &files[1], "--format", "markdown"]);
    assert!(markdown.contains("| metric | verdict | A | B | B/A (95 % CI) |"), "{markdown}");
}

/// Returns a record of one CPU that began then, with these hours; a record without hours is from an older version.
fn night(core: &Value, hours: Value, started: u64) -> String {
    let mut record = core.clone();
    record["environment"]["started_unix_s"] = json!(started);
    record["results"].as_array_mut().unwrap().truncate(1);
    record["results"][0]["hours"] = hours;
    if record["results"][0]["hours"].is_null() {
        record["results"][0].as_object_mut().unwrap().remove("hours");
        let piece = |from_s: u64, share: f64| json!({"from_s": from_s, "shared_share": share});
        record["results"][0]["timeline"] = json!([piece(0, 1.0), piece(3_600, 0.0)]);
    }
    record.to_string() + "\n"
}

#[test]
fn hours_of_several_records_are_combined() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let core = named("core");
    let cpu = &results(&core)[0]["cpu"];
    let mut night = |hours, started| archive.insert_bytes(&night(&core, hours, started));
    night(
        json!([{"hour": 22, "steps": 400, "seconds": 100.0, "shared_share": 0.5},
        {"hour": 3, "steps": 50, "seconds": 50.0, "shared_share": 0.0}]),
        0,
    );
    night(json!([{"hour": 22, "steps": 300, "seconds": 300.0, "shared_share": 0.25}]), 1_000_000_000);
    // A record of two hours from an older version without hours, begun at five past ten.
    night(Value::Null, 86_400 * 20_000 + 10 * 3_600 + 300);
    let found = archive.contend(&["history", "hours", "--format", "json"]).stdout;
    let found: Value = serde_json::from_slice(&found).unwrap();
    let text: Vec<_> =
        found.as_array().unwrap().iter().map(|of| (&of["cpu"], &of["hour"], &of["shared_share"])).collect();
    assert_eq!(
        text,
        [
            (cpu, &json!(3), &json!(0.0)),
            (cpu, &json!(10), &json!(1.0)),
            (cpu, &json!(11), &json!(0.0)),
            (cpu, &json!(22), &json!(0.3125))
        ]
    );
    let text = String::from_utf8(archive.contend(&["history", "hours"]).stdout).unwrap();
    assert!(text.contains("······") && text.contains("Maximum at 10:00") && text.contains("██"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// Runs before and after the topology of a core was probed are runs of the same machine.
#[test]
fn records_before_and_after_a_probe_are_of_one_machine() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let before = named("core");
    let mut after = before.clone();
    after["environment"]["cpu"]["probed"] =
        json!({"probed_unix_s": 1_700_000_000, "pairs": [{"cpus": [0, 1], "share_a_core": false}]});
    after["environment"]["kernel"]["release"] = json!("another");
    let [before, after] = [before, after].map(|record| archive.insert_bytes(&(record.to_string() + "\n")));
    let text = archive.contend(&["compare", &before, &after, "--format", "json"]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("another") && !text.contains("probed"), "{text}");
}
