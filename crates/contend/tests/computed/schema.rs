//! `contend schema` through its binary: it describes exactly the written records.

use crate::command::contend;
use crate::command::schema::{errors, printed};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn names() -> Vec<&'static str> {
    experiments::ALL.iter().map(|entry| entry.name).chain(["survey"]).collect()
}

fn old(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the message of the refusal.
fn refused(arguments: &[&str]) -> String {
    let output = contend(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{arguments:?}: {stderr}");
    stderr
}

#[test]
fn every_experiment_and_the_survey_have_a_schema() {
    let all = printed(&[]);
    for name in names() {
        let chosen = |part: &&Value| part["if"]["properties"]["experiment"]["const"] == name;
        assert!(all["allOf"].as_array().unwrap().iter().any(|part| chosen(&part)), "{name}");
        assert_eq!(printed(&[name])["properties"]["experiment"]["const"], name);
    }
    assert_eq!(all["properties"]["experiment"]["enum"], json!(names()));
}

#[test]
fn every_schema_is_valid_in_draft_2020_12() {
    for schema in names().iter().map(|name| printed(&[name])).chain([printed(&[])]) {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        if let Err(error) = jsonschema::draft202012::meta::validate(&schema) {
            panic!("{}: {error}", error.instance_path());
        }
    }
}

#[test]
fn definitions_and_references_match() {
    for schema in names().iter().map(|name| printed(&[name])).chain([printed(&[])]) {
        let text = schema.to_string();
        let parts = text.split("\"#/$defs/").skip(1).map(|rest| rest.split('"').next().unwrap());
        let referred: BTreeSet<&str> = parts.collect();
        let defined: BTreeSet<&str> = schema["$defs"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(referred, defined, "{}", schema["title"]);
    }
}

#[test]
fn the_schema_of_one_experiment_refuses_records_of_others() {
    let latency = jsonschema::draft202012::new(&printed(&["latency"])).unwrap();
    assert!(latency.is_valid(&old("latency.json")));
    assert!(!latency.is_valid(&old("clock.json")));
}

#[test]
fn record_of_an_unknown_experiment_is_invalid() {
    let mut record = old("latency.json");
    record["experiment"] = json!("cooking");
    assert!(!errors(&record).is_empty());
}

#[test]
fn record_of_another_layout_version_is_invalid() {
    let mut record = old("latency.json");
    record["schema"] = json!("contend/2");
    assert!(!errors(&record).is_empty());
}

#[test]
fn record_with_rows_of_another_experiment_is_invalid() {
    let mut record = old("latency.json");
    record["results"] = old("ring.json")["results"].clone();
    assert!(!errors(&record).is_empty());
}

#[test]
fn survey_row_matches_the_experiment_that_it_names() {
    let survey = old("survey.json");
    assert_eq!(errors(&survey), Vec::<String>::new());
    for experiment in ["latency", "model frames", "findings", "then_and_now"] {
        let mut broken = survey.clone();
        let rows = broken["results"].as_array_mut().unwrap();
        let row = rows.iter_mut().find(|row| row["experiment"] == experiment).unwrap();
        *row = json!({"experiment": experiment});
        assert!(!errors(&broken).is_empty(), "a row of {experiment} without figures");
    }
    let mut broken = survey.clone();
    broken["results"][0].as_object_mut().unwrap().remove("experiment");
    assert!(!errors(&broken).is_empty(), "a row of nobody");
}

#[test]
fn survey_parameters_are_those_of_its_experiments() {
    let mut survey = old("survey.json");
    survey["parameters"]["latency"]["locks"] = json!(7);
    assert!(!errors(&survey).is_empty());
}

#[test]
fn value_that_is_not_a_number_is_named_with_its_path() {
    let mut record = old("latency.json");
    record["results"][1]["p50_ns"] = json!("fast");
    let wrong = errors(&record);
    assert!(wrong.len() == 1 && wrong[0].starts_with("/results/1/p50_ns: "), "{wrong:?}");
}

#[test]
fn additional_fields_of_a_newer_contend_are_valid() {
    let mut record = old("survey.json");
    for place in ["", "/environment", "/environment/cpu", "/parameters", "/results/0", "/warnings/0"] {
        record.pointer_mut(place).unwrap()["of_tomorrow"] = json!({"value": 1});
    }
    assert_eq!(errors(&record), Vec::<String>::new());
}

#[test]
fn name_of_two_words_is_accepted_as_two_or_as_one() {
    assert_eq!(printed(&["model", "frames"]), printed(&["model frames"]));
}

#[test]
fn unknown_name_is_refused_with_the_known_names() {
    for unknown in [&["schema", "cooking"][..], &["schema", "model"], &["schema", "latency", "std"]] {
        let stderr = refused(unknown);
        assert!(names().iter().all(|name| stderr.contains(name)), "{stderr}");
    }
}

#[test]
fn schema_has_only_one_format() {
    for format in ["json", "csv"] {
        assert!(refused(&["schema", "--format", format]).contains("`contend schema` does not take this option"));
    }
}

#[test]
fn schema_is_written_to_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schema.json");
    let output = contend(&["schema", "--output", file.to_str().unwrap()]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert_eq!(fs::read(&file).unwrap(), contend(&["schema"]).stdout);
}

fn stored() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema.json")
}

#[test]
fn printed_schema_is_the_stored_one() {
    let printed = contend(&["schema"]).stdout;
    let is_same = fs::read(stored()).is_ok_and(|stored| stored == printed);
    assert!(is_same, "docs/schema.json is not what this contend prints");
}
