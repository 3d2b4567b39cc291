//! The main command through its binary, with the experiment that measures nothing.

use crate::command::{contend, read, record, results};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The quickest survey: computed, not measured.
const MODEL: &[&str] = &["survey", "--only", "model"];

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// Runs contend with this variable set.
fn with(variable: &str, value: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env("CONTEND_ARCHIVE", "").env(variable, value).args(arguments);
    command.output().expect("the binary starts")
}

#[test]
fn history_shows_what_the_survey_printed() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("archive.git");
    let (printed, stderr) = text(&with("CONTEND_ARCHIVE", &archive, &[MODEL, &["--no-page"]].concat()));
    let (shown, _) = text(&with("CONTEND_ARCHIVE", &archive, &["history", "show", "last"]));
    assert!(printed.contains("1999 frames") && shown.ends_with(&printed), "{shown}{stderr}");
    let (whole, _) = text(&with("CONTEND_ARCHIVE", &archive, &["history", "show", "last", "--all"]));
    assert!(whole.lines().count() > shown.lines().count() && whole.contains("Assumed"), "{whole}");
}

#[test]
fn skipped_experiment_does_not_run() {
    let record = record(&["survey", "--skip", "clock,latency,throughput,noise,load,ring"]);
    let experiments: Vec<&Value> = results(&record).iter().map(|row| &row["experiment"]).collect();
    assert!(experiments.iter().all(|name| *name == "model frames" || *name == "then_and_now"), "{experiments:?}");
    let lock_step = record["warnings"].as_array().unwrap().iter().find(|warning| warning["code"] == "left_out");
    assert!(lock_step.unwrap()["message"].as_str().unwrap().contains("no trace"));
}

/// The ring finds no place to build contestants in.
#[test]
fn failing_experiment_does_not_affect_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = &folder.path().join("missing");
    let call = ["survey", "--only", "ring,model", "--seconds", "1"];
    let (stdout, stderr) = text(&with("TMPDIR", nowhere, &call));
    assert!(stdout.contains("Not measured\n  - the experiment ring failed: no writable directory"), "{stdout}{stderr}");
    assert!(stdout.contains("1999 frames"), "{stdout}{stderr}");
    // On a busy machine, the terminal has other warnings in place of this one.
    let (record, _) = text(&with("TMPDIR", nowhere, &[&call[..], &["--format", "json"]].concat()));
    assert!(record.contains("experiment_failed"), "{record}");
    let alone = with("TMPDIR", nowhere, &["survey", "--only", "ring", "--seconds", "1"]);
    let (stdout, stderr) = text(&alone);
    assert_eq!(alone.status.code(), Some(1), "{stderr}");
    assert!(stdout.is_empty() && stderr.contains("nothing was measured: the experiment ring failed"), "{stderr}");
}

#[test]
fn path_of_the_page_is_last_and_only_pages_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let line = format!("report: {}", page.display());
    let arguments = [MODEL, &["--page", page.to_str().unwrap()]].concat();
    for _ in 0..2 {
        let (stdout, _) = text(&contend(&arguments));
        assert_eq!(stdout.lines().last(), Some(line.as_str()));
        assert!(fs::read_to_string(&page).unwrap().starts_with("<!DOCTYPE html>"));
    }
    let (stdout, stderr) = text(&contend(&[&arguments[..], &["--format", "json"]].concat()));
    read(stdout.as_bytes());
    assert!(stderr.lines().last() == Some(&line), "{stderr}");
    fs::write(&page, "<html>somebody's</html>").unwrap();
    let refused = contend(&arguments);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&page).unwrap(), "<html>somebody's</html>");
    let missing = folder.path().join("missing/page.html");
    let missing = missing.to_str().unwrap();
    let nowhere = contend(&[MODEL, &["--page", missing]].concat());
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(text(&nowhere).1.contains(&format!("--page {missing}: cannot write the file")));
}

#[test]
fn default_page_is_next_to_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, page) = (folder.path().join("archive.git"), folder.path().join("survey.html"));
    let run = |more: &[&str]| text(&with("CONTEND_ARCHIVE", &archive, &[MODEL, more].concat()));
    assert!(!run(&["--no-page"]).0.contains("report: ") && !page.exists());
    assert!(!run(&["--no-keep"]).0.contains("report: ") && !page.exists());
    assert!(run(&[]).0.ends_with(&format!("report: {}\n", page.display())) && page.is_file());
    fs::write(&page, "somebody's").unwrap();
    let (stdout, stderr) = run(&[]);
    assert!(stderr.contains("warning: no HTML report: ") && stderr.contains("not a report of contend"), "{stderr}");
    assert!(stdout.contains("then and now") && fs::read_to_string(&page).unwrap() == "somebody's", "{stdout}");
    // Three of the four runs were archived.
    let list = with("CONTEND_ARCHIVE", &archive, &["history", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&text(&list).0).unwrap().as_array().unwrap().len(), 3);
}

/// A service's missing home directory is intended, also where this process might create it.
#[test]
fn missing_home_directory_is_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("missing");
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env_remove("CONTEND_ARCHIVE").env_remove("XDG_DATA_HOME").env("HOME", &home).args(MODEL);
    let output = command.output().unwrap();
    let (_, stderr) = text(&output);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("[not_kept]") && stderr.contains("does not exist"), "{stderr}");
    assert!(!home.exists(), "{stderr}");
}

#[test]
fn default_survey_takes_a_minute_and_a_thorough_one_longer() {
    // Nothing is measured, and the record has the plan anyway.
    let budget = |flags: &[&str]| record(&[MODEL, flags].concat())["parameters"]["budget_s"].as_f64().unwrap();
    assert!(budget(&[]) < 60.0);
    assert_eq!(budget(&["--thorough"]), 100.0);
    let both = contend(&["survey", "--thorough", "--seconds", "5"]);
    assert_eq!(both.status.code(), Some(2));
    assert!(text(&both).1.contains("--thorough cannot be combined with --seconds"), "{}", text(&both).1);
}
