//! Records that older versions wrote, byte for byte in `tests/records`: every reader reads them.

use crate::command::archive::{Archive, has_git};
use crate::command::stored::{Old, all};
use serde_json::Value;
use std::fs;

/// The variable with which the texts are rewritten.
const RENEW: &str = "CONTEND_RENEW";

/// Returns a reader's output; the reader must succeed.
fn stdout_of(archive: &Archive, arguments: &[&str]) -> String {
    let output = archive.contend(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Passes every record to `check`, with its name in a new archive.
fn each(check: impl Fn(&mut Archive, &str, &Old)) {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    for old in all() {
        let id = archive.insert_bytes(&old.content);
        check(&mut archive, &id, &old);
    }
}

#[test]
fn every_experiment_and_the_survey_have_an_old_record() {
    let old = all();
    let experiments: Vec<&str> = old.iter().map(Old::experiment).collect();
    for entry in experiments::ALL {
        assert!(experiments.contains(&entry.name), "tests/records has no record of {}", entry.name);
    }
    assert!(experiments.contains(&"survey"));
}

#[test]
fn old_record_is_shown_unchanged() {
    each(|archive, id, old| {
        let shown = stdout_of(archive, &["history", "show", id, "--all"]);
        let (heading, text) = shown.split_once("\n\n").expect("a heading");
        assert!(heading.contains(id), "{heading}");
        let place = old.path.with_extension("txt");
        if std::env::var_os(RENEW).is_some() {
            fs::write(&place, text).unwrap();
        }
        let stored = fs::read_to_string(&place).unwrap_or_default();
        assert!(
            stored == text,
            "`contend history show --all` says something else of tests/records/{name}.json than tests/records/{name}.txt. \
             If it is meant to, `{RENEW}=1 cargo test -p contend --test computed old_records` writes the texts anew; look at what \
             changed. It says now:\n{text}",
            name = old.name(),
        );
    });
}

#[test]
fn old_record_as_json_is_unchanged_byte_for_byte() {
    each(|archive, id, old| {
        assert!(stdout_of(archive, &["history", "show", id, "--format", "json"]) == old.content, "{}", old.name());
    });
}

#[test]
fn an_old_record_as_csv_has_a_line_for_each_result() {
    each(|archive, id, old| {
        let lines = stdout_of(archive, &["history", "show", id, "--format", "csv"]).lines().count();
        assert_eq!(lines, old.rows().len() + 1, "{}", old.name());
    });
}

#[test]
fn an_old_record_is_exported_byte_for_byte() {
    each(|archive, id, old| {
        assert!(stdout_of(archive, &["history", "export", id, "-"]) == old.content, "{}", old.name());
    });
}

#[test]
fn old_record_has_a_page_with_environment_and_warnings() {
    each(|archive, id, old| {
        let page = stdout_of(archive, &["report", id]);
        let release = old.record["environment"]["kernel"]["release"].as_str().unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.contains(release), "{}", old.name());
        for warning in old.record["warnings"].as_array().unwrap() {
            let code = warning["code"].as_str().unwrap();
            assert!(page.contains(&format!("[{code}]")), "{}: {code} is missing", old.name());
        }
        let file = stdout_of(archive, &["report", old.path.to_str().unwrap()]);
        assert_eq!(file.matches("<table>").count(), page.matches("<table>").count(), "{}", old.name());
    });
}

#[test]
fn two_old_records_are_shown_computed_on_a_page() {
    each(|archive, id, old| {
        let again = archive.insert_bytes(&old.again());
        let page = stdout_of(archive, &["report", id, &again]);
        let compared = page.split("id=\"side-by-side\"").nth(1).expect("a comparison");
        let of = if old.experiment() == "survey" { "latency" } else { old.experiment() };
        assert!(compared.contains(&format!("contend {of}: ratio of the last record to the first")), "{}", old.name());
    });
}

#[test]
fn two_old_records_are_compared() {
    each(|archive, id, old| {
        let again = archive.file("again.json", &old.again());
        assert!(!stdout_of(archive, &["compare", id, &again]).is_empty());
        let answer: Value =
            serde_json::from_str(&stdout_of(archive, &["compare", id, &again, "--format", "json"])).unwrap();
        let cells = answer["cells"].as_array().unwrap();
        let is_half_more = |line: &&Value| line["ratio"].as_f64().is_some_and(|ratio| (ratio - 1.5).abs() < 1e-9);
        assert!(cells.iter().any(|line| is_half_more(&line)), "{}: {answer}", old.name());
        assert!(
            cells.iter().all(|line| !line["verdict"].as_str().unwrap().starts_with("not measured")),
            "{}",
            old.name()
        );
    });
}

#[test]
fn figures_of_old_records_have_a_trend() {
    each(|archive, _, old| {
        archive.insert_bytes(&old.again());
        let trend = |more: &[&str]| -> Value {
            let asked = ["history", "trend", "--format", "json", "--since", "2000-01-01"];
            serde_json::from_str(&stdout_of(archive, &[&asked, more].concat())).unwrap()
        };
        let all = trend(&[]);
        let of_it = |series: &&Value| old.experiment() == "survey" || series["experiment"] == old.experiment();
        let mut long = all.as_array().unwrap().iter().filter(of_it);
        let series = long.find(|series| series["points"].as_array().unwrap().len() > 1);
        let series = series.unwrap_or_else(|| panic!("{}: {all}", old.name()));
        let name = ["experiment", "cell", "figure"].map(|field| series[field].as_str().unwrap()).join(": ");
        let answer = trend(&[&name]);
        assert!(answer["unreadable"] == 0 && answer["levels"][0]["records"].as_u64() > Some(0), "{answer}");
    });
}
