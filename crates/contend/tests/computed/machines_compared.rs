//! `contend machines`: the score, its ranks and views, from simulated records of several machines.

use crate::command::archive::{Archive, has_git};
use crate::command::contend;
use crate::command::stored::all;
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

/// Returns the stored survey with the costs of its locks, switches and clock multiplied, each with an interval except
/// that of the clock, as of a separate, undisturbed run.
fn survey(times: f64) -> Value {
    let old = all().into_iter().find(|old| old.experiment() == "survey").expect("there is one in tests/records");
    let mut record = old.record.clone();
    for row in record["results"].as_array_mut().unwrap() {
        for (field, interval) in
            [("bare_pair_ns", "bare_pair_ci_ns"), ("ns_per_hop", "ns_per_hop_ci"), ("read_cost_ns", "")]
        {
            if let Some(value) = row.get(field).and_then(Value::as_f64).map(|value| value * times) {
                row[field] = json!(value);
                if !interval.is_empty() {
                    row[interval] = json!([value * 0.99, value * 1.01]);
                }
            }
        }
        if let Some(share) = row.get("lost_share").and_then(Value::as_f64) {
            row["lost_ci_share"] = json!([share * 0.9, share * 1.1]);
        }
    }
    record["warnings"].as_array_mut().unwrap().retain(|warning| warning["code"] != "other_load");
    record["environment"]["seed"] = json!((times * 1000.0) as u64);
    record
}

/// Returns a directory with the files `a.json` and so on, of machines with these factors.
fn files(factors: &[(&str, f64)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, times) in factors {
        fs::write(folder.path().join(format!("{name}.json")), survey(*times).to_string()).unwrap();
    }
    folder
}

fn named(folder: &TempDir, words: &[&str]) -> Vec<String> {
    let path = |word: &&str| match word.split_once('=') {
        Some((name, file)) => format!("{name}={}", folder.path().join(file).display()),
        None => folder.path().join(word).display().to_string(),
    };
    words.iter().map(path).collect()
}

fn answer(folder: &TempDir, words: &[&str], flags: &[&str]) -> String {
    let words = named(folder, words);
    let call: Vec<&str> =
        ["machines"].into_iter().chain(words.iter().map(String::as_str)).chain(flags.iter().copied()).collect();
    let output = contend(&call);
    assert!(output.status.success(), "{call:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn slower_machine_has_a_higher_score_and_rank() {
    let folder = files(&[("a", 1.0), ("b", 3.0)]);
    let found: Value = serde_json::from_str(&answer(&folder, &["b.json", "a.json"], &["--format", "json"])).unwrap();
    let machines = found["machines"].as_array().unwrap();
    let names: Vec<&str> = machines.iter().map(|machine| machine["machine"].as_str().unwrap()).collect();
    assert_eq!((names, machines[0]["rank"].as_u64(), machines[1]["rank"].as_u64()), (vec!["a", "b"], Some(1), Some(2)));
    let score = |place: usize| machines[place]["score_times"].as_f64().unwrap();
    // Around their geometric mean; one of three aspects, the CPU time, is the same on both.
    assert!((score(0) * score(1) - 1.0).abs() < 1e-9, "{found}");
    assert!((score(1) / score(0) - 3_f64.powf(2.0 / 3.0)).abs() < 0.01, "{found}");
    let ends = machines[1]["score_ci_times"].as_array().unwrap();
    assert!(ends[0].as_f64().unwrap() < score(1) && score(1) < ends[1].as_f64().unwrap(), "{found}");
    assert_eq!(found["aspects"].as_array().unwrap().len(), 3, "{found}");
    assert!(found["excluded"].as_str().unwrap().contains("longest gaps"));
    let lost = found["values"].as_array().unwrap().iter().find(|value| value["unit"] == "share").unwrap();
    assert_eq!((lost["in_score"].as_bool(), lost["aspect"].as_str()), (Some(false), Some("CPU time")));
}

/// A limit of the machine and a value without an interval are judged with the variation of four runs.
#[test]
fn values_of_unknown_error_need_several_records() {
    let factors = [1.0, 1.01, 1.02, 1.03];
    let names: Vec<String> = (0..8).map(|place| place.to_string()).collect();
    let values = names.iter().zip(factors.into_iter().chain(factors.map(|times| times * 3.0)));
    let folder = files(&values.map(|(name, times)| (name.as_str(), times)).collect::<Vec<_>>());
    let judged = |words: &[&str], is_judged: bool| {
        let found: Value = serde_json::from_str(&answer(&folder, words, &["--format", "json"])).unwrap();
        for what in ["a system call", "waking a thread, another CPU", "reading the clock"] {
            let mut values = found["values"].as_array().unwrap().iter().filter(|value| value["what"] == what);
            let is_it = |value: &Value| {
                value["value_ci"].is_array() == is_judged
                    && value["rank"].is_u64() == is_judged
                    && value["in_score"] == is_judged
            };
            assert!(values.all(is_it), "{what}: {found}");
        }
        found["excluded"].as_str().unwrap().to_owned()
    };
    let excluded = judged(&["x=0.json", "x=1.json", "y=4.json"], false);
    assert!(excluded.contains("the error is unknown: 4 of the values that all machines have"), "{excluded}");
    let x = ["x=0.json", "x=1.json", "x=2.json", "x=3.json"];
    let all = [&x[..], &["y=4.json", "y=5.json", "y=6.json", "y=7.json"]].concat();
    let excluded = judged(&all, true);
    assert!(!excluded.contains("the error is unknown"), "{excluded}");
}

#[test]
fn surveys_without_intervals_are_compared_and_not_judged() {
    let folder = files(&[("a", 1.0), ("b", 3.0)]);
    for name in ["a.json", "b.json"] {
        let path = folder.path().join(name);
        let mut record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for row in record["results"].as_array_mut().unwrap() {
            let is_model = row["experiment"].as_str().unwrap().starts_with("model");
            let intervals =
                row.as_object_mut().unwrap().iter_mut().filter(|(field, _)| field.contains("_ci") && !is_model);
            intervals.for_each(|(_, value)| *value = Value::Null);
        }
        fs::write(path, record.to_string()).unwrap();
    }
    let words = ["a.json", "b.json"];
    let found: Value = serde_json::from_str(&answer(&folder, &words, &["--format", "json"])).unwrap();
    let machines = found["machines"].as_array().unwrap();
    assert!(machines[0]["score_times"].as_f64().unwrap() < machines[1]["score_times"].as_f64().unwrap(), "{found}");
    assert!(machines.iter().all(|one| one["rank"].is_null() && one["score_ci_times"].is_null()), "{found}");
    assert!(found["excluded"].as_str().unwrap().contains("Not judged: "), "{found}");
    assert!(answer(&folder, &words, &["--page", "-"]).contains("The machines are not judged"));
}

#[test]
fn files_that_may_be_of_one_host_are_named() {
    let folder = files(&[("a", 1.0), ("b", 3.0)]);
    let is_named = || answer(&folder, &["a.json", "b.json"], &[]).contains("a and b have the same processor");
    assert!(is_named());
    let mut other = survey(3.0);
    other["environment"]["host"]["memory_mib"] = json!(1);
    fs::write(folder.path().join("b.json"), other.to_string()).unwrap();
    assert!(!is_named());
}

#[test]
fn copy_of_a_record_does_not_count_again() {
    let folder = files(&[("a", 1.0), ("copy", 1.0), ("b", 3.0)]);
    let words = ["x=a.json", "x=copy.json", "y=b.json"];
    let found: Value = serde_json::from_str(&answer(&folder, &words, &["--format", "json"])).unwrap();
    assert!(found["machines"].as_array().unwrap().iter().all(|machine| machine["records"] == 1), "{found}");
}

#[test]
fn equal_machines_share_a_rank_and_prices_decide() {
    let folder = files(&[("a", 1.0), ("b", 1.02), ("c", 1.0)]);
    let flags = ["--price", "x=0.1", "--price", "y=0.3", "--format", "json"];
    let found: Value = serde_json::from_str(&answer(&folder, &["x=a.json", "y=b.json", "y=c.json"], &flags)).unwrap();
    for machine in found["machines"].as_array().unwrap() {
        let is_x = machine["machine"] == "x";
        assert_eq!((machine["rank"].as_u64(), machine["records"].as_u64()), (Some(1), Some(2 - u64::from(is_x))));
        assert_eq!(machine["score_price_rank"].as_u64(), Some(2 - u64::from(is_x)), "{found}");
    }
}

#[test]
fn machines_have_every_view_and_a_page() {
    let folder = files(&[("a", 1.0), ("b", 3.0)]);
    let words = ["a.json", "b.json"];
    let text = answer(&folder, &words, &[]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in ["uncontended locks", "an uncontended std lock", "CPU time lost, quiet", "score excludes", "*13.1 ns"] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    let csv = answer(&folder, &words, &["--format", "csv"]);
    assert!(csv.starts_with("machine,aspect,what,unit,value,value_ci_low,value_ci_high,"), "{csv}");
    assert!(csv.contains("\nb,score,score,times,"), "{csv}");
    assert!(answer(&folder, &words, &["--format", "markdown"]).contains("| a | 1 | 1 |"));
    let page = answer(&folder, &words, &["--page", "-"]);
    assert!(page.contains("<h1>Machines: a, b</h1>") && page.contains("a has the lowest cost of waiting."), "{page}");
    assert!(page.contains(">an uncontended std lock, b</text>") && page.matches("<figure").count() == 2);
}

#[test]
fn a_single_machine_and_wrong_words_are_answered() {
    let folder = files(&[("a", 1.0), ("b", 1.0)]);
    let refused = |words: &[&str], flags: &[&str], status: i32, expected: &str| {
        let words = named(&folder, words);
        let call: Vec<&str> =
            ["machines"].into_iter().chain(words.iter().map(String::as_str)).chain(flags.iter().copied()).collect();
        let output = contend(&call);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(status) && message.contains(expected), "{call:?}: {message}");
    };
    refused(&["a.json"], &[], 4, "to add another, run `contend survey");
    refused(&["x=a.json", "x=b.json"], &[], 4, "only one machine has records here, x;");
    refused(&["a.json", "a.json"], &[], 2, "given twice");
    refused(&["a.json", "b.json"], &["--price", "c=1"], 2, "allowed: a, b");
    refused(&["a.json", "b.json"], &["--price", "a=0"], 2, "a price above 0");
    refused(&[], &[], 4, "there are no machines to compare");
}

#[test]
fn hosts_of_the_archive_are_compared() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    for (host, times) in [("one", 1.0), ("two", 3.0), ("two", 3.1)] {
        archive.host = host.to_owned();
        archive.insert(&survey(times));
    }
    let output = archive.contend(&["machines", "one", "two", "--format", "json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let machines = found["machines"].as_array().unwrap();
    assert_eq!((machines[0]["machine"].as_str(), machines[1]["records"].as_u64()), (Some("one"), Some(2)), "{found}");
    let output = archive.contend(&["machines", "three", "two"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("three: not a machine of the archive, which has ") && message.contains("two"),
        "{message}"
    );
}
