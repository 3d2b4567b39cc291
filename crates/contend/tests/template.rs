//! An experiment and a lock of one directory, one file and a line each: they have everything that contend has.

mod command;

use command::archive::{Archive, has_git};
use command::{contend, record, results};

fn said(arguments: &[&str]) -> String {
    let output = contend(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn it_is_in_the_help_the_completions_and_the_man_pages() {
    assert!(said(&["--help"]).contains("template"));
    assert!(said(&["template", "--help"]).contains("--batch"));
    assert!(said(&["template", "--explain"]).contains("What does a system call cost?"));
    assert!(said(&["completions", "bash"]).contains("contend,template"));
    let folder = tempfile::tempdir().unwrap();
    said(&["man", folder.path().to_str().unwrap()]);
    assert!(folder.path().join("contend-template.1").exists());
}

#[test]
fn it_measures_and_its_record_is_kept_listed_shown_compared_and_trended() {
    if !has_git() {
        return;
    }
    let archive = Archive::new();
    let said = |arguments: &[&str]| {
        let output = archive.contend(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for _ in 0..2 {
        assert!(said(&["template", "--seconds", "0.1", "--quiet"]).contains("a system call (95 %)"));
    }
    assert!(said(&["history"]).contains("template --seconds 0.1"));
    assert!(said(&["history", "show", "last"]).contains("a system call (95 %)"));
    assert!(said(&["history", "trend"]).contains("a system call"));
    assert!(said(&["compare", "last~1", "last"]).contains("a system call"));
    let page = said(&["report", "last"]);
    assert!(page.contains("What a system call costs") && page.contains("id=\"method-template\""));
}

#[test]
fn it_is_a_part_of_the_survey_since_it_asks_for_it() {
    let record = record(&["survey", "--only", "template", "--seconds", "0.1", "--no-page", "--quiet"]);
    assert_eq!(record["parameters"]["parts"][0]["command"], "contend template --batch 100 --seconds 0.1");
    assert_eq!(record["parameters"]["template"]["batch"], 100);
    let rows = results(&record);
    assert!(rows.iter().any(|row| row["experiment"] == "template" && row["call_ns"].as_f64() > Some(0.0)));
    assert!(rows.iter().any(|row| row["experiment"] == "findings" && row["what"] == "system_call"));
}

#[test]
fn its_schema_is_there() {
    assert!(said(&["schema", "template"]).contains("call_ci_ns"));
}

#[test]
fn the_lock_is_listed_and_measured() {
    assert!(said(&["latency", "--lock", "list"]).contains("a flag that spins and yields"));
    let record = record(&["throughput", "--lock", "template", "--children", "2", "--seconds", "0.3", "--quiet"]);
    assert_eq!(results(&record)[0]["lock"], "template");
}
