//! The main command through its binary, shortened.

use crate::command::{contend, read, record, results};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn of<'a>(record: &'a Value, experiment: &str) -> Vec<&'a Value> {
    results(record).iter().filter(|row| row["experiment"] == experiment).collect()
}

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

/// The only complete survey of the tests, with every experiment as short as possible.
#[test]
fn every_experiment_is_in_the_record_and_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, page) = (folder.path().join("archive.git"), folder.path().join("survey.html"));
    let output = with("CONTEND_ARCHIVE", &archive, &["--seconds", "25", "--format", "json"]);
    let (stdout, stderr) = text(&output);
    assert!(output.status.success(), "{stderr}");
    let record = read(stdout.as_bytes());
    let experiments =
        ["clock", "latency", "throughput", "noise", "load", "ring", "model frames", "then_and_now", "findings"];
    for experiment in experiments {
        assert!(!of(&record, experiment).is_empty(), "no row of {experiment}: {stderr}");
    }
    assert!(!stderr.contains("experiment_failed"), "{stderr}");
    for lock in ["sysv", "benaphore", "std"] {
        assert!(of(&record, "latency").iter().any(|row| row["lock"] == lock), "no {lock}");
    }
    let compared = of(&record, "then_and_now");
    for year in [1998, 1999, 2002, 2008] {
        assert!(compared.iter().any(|row| row["year"] == year), "nothing of {year}");
    }
    let page = fs::read_to_string(page).unwrap();
    assert!(page.len() < 1_000_000, "{}", page.len());
    for title in ["Findings", "Latency of locks", "The thread ring", "Then and now"] {
        assert!(page.contains(title), "{title}");
    }
    // The page begins with the ladder and a few findings, each linked to its section; the others are folded.
    let begins = page.split("id=\"findings\"").nth(1).expect("a chapter");
    let lists: Vec<&str> =
        begins.split("<ul class=\"findings\">").map(|list| list.split("</ul>").next().unwrap()).collect();
    assert!(lists[0].contains("<figure class=\"ladder\">") && lists[0].contains("a switch, kernel threads"));
    let count = |list: &str| list.matches("<li>").count();
    assert!((3..=5).contains(&count(lists[1])), "{}", lists[1]);
    assert_eq!(count(lists[1]) + count(lists[2]), of(&record, "findings").len());
    assert!(lists[1].contains("href=\"#the-thread-ring\""), "{}", lists[1]);
    let (closing, _) = text(&with("CONTEND_ARCHIVE", &archive, &["history", "show", "last"]));
    let shown = with("CONTEND_ARCHIVE", &archive, &["history", "show", "last", "--all"]);
    let (shown, stderr) = text(&shown);
    for part in ["loops/s", "contestant", "/proc/stat", "Findings", "then and now"] {
        assert!(shown.contains(part), "{part}: {stderr}");
    }
    // The closing screen, which names the command that shows all of it.
    assert!(closing.contains("Costs of waiting") && !closing.contains("loops/s"), "{closing}");
    let words = closing.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, rest) = words.split_once("the comparison with 1998 to 2008, and all tables: contend ").expect("a command");
    let command: Vec<&str> = rest.split(' ').take(4).collect();
    assert_eq!(text(&with("CONTEND_ARCHIVE", &archive, &command)).0, shown, "{command:?}");
    // Every warning is printed with --all, with its remedy.
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = joined(&shown);
    for warning in record["warnings"].as_array().unwrap() {
        let [message, remedy] = ["message", "remedy"].map(|field| joined(warning[field].as_str().unwrap()));
        assert!(shown.contains(&message) && shown.contains(&remedy), "{warning}: {shown}");
    }
}

#[test]
fn survey_ends_with_findings_and_old_values() {
    let output = contend(&["survey", "--only", "load,model", "--seconds", "0.5", "--quiet"]);
    let (stdout, _) = text(&output);
    let (found, table) = stdout.split_once("then and now").expect("the closing table");
    assert!(found.starts_with("Findings\n  - ") && found.contains("is left over by all other threads"), "{stdout}");
    assert!(found.contains("[load: CPU"), "{stdout}");
    assert!(table.contains("1998 work done by two spinners on one CPU") && table.contains("99.92 %"), "{stdout}");
    assert!(table.contains("1999 frames from loss to loss, computed"), "{stdout}");
    assert!(!table.contains("semaphore"), "what did not run is not compared: {stdout}");
    assert!(stdout.lines().all(|line| line.chars().count() <= 80), "{stdout}");
}

#[test]
fn finding_has_the_value_of_its_row() {
    let record = record(&["survey", "--only", "load", "--seconds", "0.5"]);
    let findings = of(&record, "findings");
    assert_eq!(findings.len(), 1);
    let source = &findings[0]["source"];
    let row = &results(&record)[source["row"].as_u64().unwrap() as usize];
    assert_eq!(row["experiment"], source["experiment"]);
    assert_eq!(row[source["field"].as_str().unwrap()], findings[0]["value"]);
    assert_eq!(findings[0]["unit"], "share");
    let part = &record["parameters"]["parts"][0];
    assert_eq!(part["command"], "contend load --grinders 2 --interval 500ms --seconds 0.5");
}
