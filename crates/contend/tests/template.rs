//! An experiment and a lock of one directory, one file and a line each: they have everything that contend has.

mod command;

use command::archive::{Archive, has_git};
use command::{contend, record, results};

fn stdout_of(arguments: &[&str]) -> String {
    let output = contend(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn template_is_in_help_completions_and_man_pages() {
    assert!(stdout_of(&["--help"]).contains("template"));
    assert!(stdout_of(&["template", "--help"]).contains("--batch"));
    assert!(stdout_of(&["template", "--explain"]).contains("What does a system call cost?"));
    assert!(stdout_of(&["completions", "bash"]).contains("contend,template"));
    let folder = tempfile::tempdir().unwrap();
    stdout_of(&["man", folder.path().to_str().unwrap()]);
    assert!(folder.path().join("contend-template.1").exists());
}

#[test]
fn template_record_works_in_every_view() {
    if !has_git() {
        return;
    }
    let archive = Archive::new();
    let stdout_of = |arguments: &[&str]| {
        let output = archive.contend(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for _ in 0..2 {
        assert!(stdout_of(&["template", "--seconds", "0.1", "--quiet"]).contains("a system call (95 %)"));
    }
    assert!(stdout_of(&["history"]).contains("template --seconds 0.1"));
    assert!(stdout_of(&["history", "show", "last"]).contains("a system call (95 %)"));
    assert!(stdout_of(&["history", "trend"]).contains("a system call"));
    assert!(stdout_of(&["compare", "last~1", "last"]).contains("a system call"));
    let page = stdout_of(&["report", "last"]);
    assert!(page.contains("What a system call costs") && page.contains("id=\"method-template\""));
}

#[test]
fn template_is_a_part_of_the_survey() {
    let record = record(&["survey", "--only", "template", "--seconds", "0.1", "--no-page", "--quiet"]);
    assert_eq!(record["parameters"]["parts"][0]["command"], "contend template --batch 100 --seconds 0.1");
    assert_eq!(record["parameters"]["template"]["batch"], 100);
    let rows = results(&record);
    assert!(rows.iter().any(|row| row["experiment"] == "template" && row["call_ns"].as_f64() > Some(0.0)));
    assert!(rows.iter().any(|row| row["experiment"] == "findings" && row["what"] == "system_call"));
}

#[test]
fn template_has_a_schema() {
    assert!(stdout_of(&["schema", "template"]).contains("call_ci_ns"));
}

#[test]
fn template_lock_is_listed_and_measured() {
    assert!(stdout_of(&["latency", "--lock", "list"]).contains("a flag that spins and yields"));
    let record = record(&["throughput", "--lock", "template", "--children", "2", "--seconds", "0.3", "--quiet"]);
    assert_eq!(results(&record)[0]["lock"], "template");
}
