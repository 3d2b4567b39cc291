//! The main command through its binary, shortened.

use crate::command::{contend, read, record, results};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The quickest survey: computed, not measured.
const MODEL: &[&str] = &["survey", "--only", "model"];

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
    let output = with("CONTEND_ARCHIVE", &archive, &["--seconds", "1", "--format", "json"]);
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
    // Every warning that limits a conclusion is printed, with its remedy; advice only with --all.
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (closing, shown) = (joined(&closing), joined(&shown));
    for warning in record["warnings"].as_array().unwrap() {
        let [message, remedy] = ["message", "remedy"].map(|field| joined(warning[field].as_str().unwrap()));
        let is_advice = warning["severity"] == "advice";
        assert_eq!(closing.contains(&message) && closing.contains(&remedy), !is_advice, "{warning}: {closing}");
        assert!(shown.contains(&message) && shown.contains(&remedy), "{warning}: {shown}");
    }
}

#[test]
fn history_shows_what_the_survey_printed() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("archive.git");
    let printed =
        with("CONTEND_ARCHIVE", &archive, &["survey", "--only", "clock,model", "--seconds", "0.5", "--no-page"]);
    let (printed, stderr) = text(&printed);
    let (shown, _) = text(&with("CONTEND_ARCHIVE", &archive, &["history", "show", "last"]));
    assert!(printed.contains("reading the clock") && shown.ends_with(&printed), "{shown}{stderr}");
    let (whole, _) = text(&with("CONTEND_ARCHIVE", &archive, &["history", "show", "last", "--all"]));
    assert!(whole.lines().count() > shown.lines().count() && whole.contains("one read"), "{whole}");
}

#[test]
fn survey_ends_with_findings_and_old_values() {
    let output = contend(&["survey", "--only", "load,model", "--seconds", "0.5", "--quiet"]);
    let (stdout, _) = text(&output);
    let (found, table) = stdout.split_once("then and now").expect("the closing table");
    assert!(found.starts_with("Findings\n  - An additional process would get"), "{stdout}");
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
    let (stdout, stderr) = text(&with("TMPDIR", nowhere, &["survey", "--only", "ring,model", "--seconds", "1"]));
    assert!(stdout.contains("Not measured\n  - the experiment ring failed: no writable directory"), "{stdout}{stderr}");
    assert!(stdout.contains("1999 frames") && stderr.contains("[experiment_failed]"), "{stdout}{stderr}");
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
