//! Records of an archive: by their names, edited, and in comparison with other runs.

use super::{latency, line, verdict};
use crate::command::archive::{Archive, has_git};
use serde_json::{Value, json};

#[test]
fn archived_records_are_found_by_their_names() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let first = archive.insert(&latency(100.0, 1_130.0));
    archive.insert(&latency(100.0, 1_240.0));
    let output = archive.contend(&["compare", &first[..8], "last"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains(&first[..10]) && text.contains("slower: 1"), "{text}");
    assert_eq!(archive.contend(&["compare", "last~1", "last", "--fail-if", "slower:3%"]).status.code(), Some(3));
    for (name, word) in [("nonsense", "nonsense"), ("last~9", "last~9")] {
        let output = archive.contend(&["compare", "last", name]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && stderr.contains(word), "{stderr}");
    }
    assert_eq!(archive.contend(&["compare", "last", "last"]).status.code(), Some(2));
}

#[test]
fn edited_record_is_reported() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let (one, other) = (latency(100.0, 1_130.0), latency(100.0, 1_131.0));
    let ids = [archive.insert(&one), archive.insert(&other)];
    // A file of an archived run, with other bytes.
    let kept = archive.contend(&["history", "export", &ids[0], "-"]);
    let edited = String::from_utf8(kept.stdout).unwrap().replace("1130.0", "1132.0");
    let file = archive.file("edited.json", &edited);
    let output = archive.contend(&["compare", &file, "last"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("was modified") && text.contains(&ids[0][..10]), "{text}");
    // An object of the archive with the content of another: complete, but not matching its name.
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
        assert!(output.status.code() == Some(1) && stderr.contains("was modified"), "{part}: {stderr}");
        std::fs::remove_file(&own).unwrap();
        std::fs::write(&own, kept).unwrap();
    }
    assert!(archive.contend(&["compare", &ids[0], "last"]).status.success());
}

#[test]
fn archived_runs_determine_the_run_to_run_variation() {
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
    // The page of both must have the same verdict.
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

/// Returns a record of an earlier version, which has a measured cost among its parameters.
fn own_lock(round_trip_ns: f64, object_calls_ns: f64, sha256: Option<&str>) -> Value {
    let mut record = latency(100.0, round_trip_ns);
    record["parameters"]["object_calls_ns"] = json!(object_calls_ns);
    if let Some(sha256) = sha256 {
        record["parameters"]["object_sha256"] = json!({ "std": sha256 });
    }
    record
}

#[test]
fn measured_parameters_do_not_distinguish_runs() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    for place in 0..8 {
        archive.insert(&own_lock(1_130.0 + f64::from(place % 2), 2.44 + f64::from(place) / 1e3, None));
    }
    archive.insert(&own_lock(1_240.0, 2.5, None));
    let found: Value =
        serde_json::from_slice(&archive.contend(&["compare", "last~1", "last", "--format", "json"]).stdout).unwrap();
    assert_eq!(found["parameters"], json!([]));
    assert_eq!(line(&found, "round trip, median")["other_runs"], 7, "{found}");
    assert_eq!(verdict(&found, "round trip, median"), "slower");
}

#[test]
fn different_build_of_a_lock_is_a_separate_set_of_runs() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let (old, new) = ("0123456789abcdef", "fedcba9876543210");
    for place in 0..6 {
        let scatter = f64::from(place % 2);
        archive.insert(&own_lock(1_130.0 + scatter, 2.44, Some(old)));
        archive.insert(&own_lock(1_240.0 + scatter, 2.44, Some(new)));
    }
    let found: Value =
        serde_json::from_slice(&archive.contend(&["compare", "last~1", "last", "--format", "json"]).stdout).unwrap();
    assert_eq!(found["parameters"], json!([{ "name": "object_sha256.std", "values": [old, new] }]));
    // In one set, a difference between the builds would be scatter between runs.
    assert_eq!(line(&found, "round trip, median")["other_runs"], 10, "{found}");
    assert_eq!(verdict(&found, "round trip, median"), "slower");
    let text = String::from_utf8(archive.contend(&["compare", "last~1", "last"]).stdout).unwrap();
    assert!(text.contains("object_sha256.std 0123456789 fedcba9876"), "{text}");
}

/// Returns a run of a traced program, with different outcomes and with waits that are `times` as long.
fn traced(run: u32, times: f64) -> Value {
    let mut record: Value = serde_json::from_str(include_str!("../../records/trace.json")).unwrap();
    record["warnings"] = json!([]);
    record["environment"]["seed"] = json!(run);
    for (name, value) in [("elapsed_s", 0.3), ("thread_time_s", 0.5), ("switches_share", 0.9), ("attached_pid", 100.0)]
    {
        record["parameters"][name] = json!(value + f64::from(run));
    }
    record["parameters"]["attached_pid"] = json!(100 + run);
    record["parameters"]["threads"] = json!(8 + run % 2);
    record["parameters"]["lost"]["waits"] = json!(run);
    for row in record["results"].as_array_mut().unwrap() {
        for figure in ["wait_p50_ns", "wait_p99_ns", "hold_p50_ns"] {
            if let Some(value) = row[figure].as_f64() {
                row[figure] = json!(value * times * (1.0 + 0.01 * f64::from(run % 3)));
            }
        }
    }
    record
}

#[test]
fn traces_are_judged_by_archived_runs_or_not_at_all() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let compared = |archive: &Archive| archive.contend(&["compare", "last~1", "last", "--fail-if", "slower:20%"]);
    archive.insert(&traced(1, 1.0));
    archive.insert(&traced(2, 2.0));
    let unjudged = compared(&archive);
    let stderr = String::from_utf8_lossy(&unjudged.stderr);
    assert_eq!(unjudged.status.code(), Some(4), "{stderr}");
    for words in [
        "--fail-if slower:20%: none of",
        "no CI: too few other runs with the same settings; 4 are needed, ",
        "\nhelp: ",
    ] {
        assert!(stderr.contains(words), "{stderr}");
    }
    let mut archive = Archive::new();
    (1..=8).for_each(|run| drop(archive.insert(&traced(run, 1.0))));
    assert_eq!(compared(&archive).status.code(), Some(0));
    archive.insert(&traced(9, 2.0));
    let failed = compared(&archive);
    assert_eq!(failed.status.code(), Some(3), "{}", String::from_utf8_lossy(&failed.stdout));
}
