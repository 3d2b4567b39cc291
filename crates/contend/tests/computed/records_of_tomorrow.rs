//! Records of a newer contend: unknown parts are kept and shown unchanged; unreadable parts are named.

use crate::command::archive::{Archive, has_git};
use crate::command::stored::{Old, all};
use serde_json::{Value, json};
use std::process::Output;

const FIELD: &str = "field_of_tomorrow";
const VALUE: &str = "value of tomorrow";

/// Returns a record as a newer contend would write it, with more fields and with warnings of another kind.
fn of_tomorrow(mut record: Value) -> Value {
    for place in ["", "/environment", "/environment/cpu", "/parameters"] {
        record.pointer_mut(place).unwrap()[FIELD] = json!(VALUE);
    }
    record["results"].as_array_mut().unwrap().iter_mut().for_each(|row| row[FIELD] = json!({"inner": VALUE}));
    let warnings = record["warnings"].as_array_mut().unwrap();
    warnings.push(json!({"code": "silent", FIELD: 3}));
    warnings.push(json!({"code": "smoke", FIELD: VALUE, "message": "it smokes", "remedy": "open a window"}));
    record
}

struct Kept<'a> {
    archive: &'a Archive,
    id: String,
    content: String,
}

impl<'a> Kept<'a> {
    fn of(record: &Value, archive: &'a mut Archive) -> Self {
        let content = record.to_string() + "\n";
        Self { id: archive.insert_bytes(&content), archive, content }
    }

    /// Returns a reader's output about it; the reader must succeed.
    fn stdout_of(&self, arguments: &[&str]) -> String {
        let output = self.archive.contend(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Asserts that every reader of a record refuses it with these words; a command that only copies it succeeds.
    fn assert_refused(&self, words: &[&str]) {
        let other = all().into_iter().find(|old| old.name() == "latency").unwrap().path;
        let other = other.to_str().unwrap();
        let file = self.archive.file("file.json", &self.content);
        let calls: [&[&str]; 6] = [
            &["history", "show", &self.id],
            &["report", &self.id],
            &["report", other, &self.id],
            &["report", &file],
            &["compare", &self.id, other],
            &["compare", other, &file],
        ];
        for call in calls {
            let output = self.archive.contend(call);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && output.stdout.is_empty(), "{call:?}");
            assert!(
                words.iter().all(|word| stderr.contains(word)) && !stderr.contains("panicked"),
                "{call:?}: {stderr}"
            );
        }
        assert!(self.stdout_of(&["history", "export", &self.id, "-"]) == self.content);
    }

    /// Asserts that the list has it, and that a trend counts it among the unreadable ones.
    fn assert_listed_and_left_out(&self) {
        assert!(self.stdout_of(&["history"]).contains(&self.id[..10]));
        assert!(self.stdout_of(&["history", "verify"]).contains("all hashes are valid"));
        assert!(
            self.stdout_of(&["history", "trend"])
                .contains("1 record is excluded: this version of contend cannot read it.")
        );
        let trend = self.stdout_of(&["history", "trend", "quantum 1.00 ms, more than"]);
        assert!(trend.contains("1 record is excluded: this version of contend cannot read it."), "{trend}");
    }
}

/// Checks every stored record as a newer contend would have written it, one after the other in one archive.
fn each(check: impl Fn(&Kept, &Old)) {
    if has_git() {
        let mut archive = Archive::new();
        all().iter().for_each(|old| check(&Kept::of(&of_tomorrow(old.record.clone()), &mut archive), old));
    }
}

#[test]
fn unknown_fields_are_ignored_and_unknown_warnings_printed() {
    each(|kept, old| {
        let shown = kept.stdout_of(&["history", "show", &kept.id, "--all"]);
        let text = shown.split_once("\n\n").expect("a heading").1;
        let known = std::fs::read_to_string(old.path.with_extension("txt")).unwrap();
        let (mut left, mut further) = (known.lines().peekable(), Vec::new());
        for line in text.lines() {
            if left.next_if_eq(&line).is_none() {
                further.push(line.trim());
            }
        }
        assert_eq!(left.next(), None, "{}: {text}", old.name());
        let warnings = [
            "warning: warning `silent` of another version [silent]",
            "remedy: not recorded",
            "warning: it smokes [smoke]",
            "remedy: open a window",
        ];
        further.retain(|line| !line.is_empty());
        assert_eq!(further, warnings, "{}: {text}", old.name());
    });
}

#[test]
fn unknown_content_survives_byte_for_byte() {
    each(|kept, old| {
        for call in [&["history", "show", &kept.id, "--format", "json"], &["history", "export", &kept.id, "-"][..]] {
            assert!(kept.stdout_of(call) == kept.content, "{}", old.name());
        }
    });
}

#[test]
fn an_unknown_field_of_a_row_is_a_column() {
    each(|kept, old| {
        let rows = kept.stdout_of(&["history", "show", &kept.id, "--format", "csv"]);
        assert!(rows.lines().next().unwrap().contains("field_of_tomorrow_inner"), "{}", old.name());
        assert_eq!(rows.matches(VALUE).count(), old.rows().len(), "{}", old.name());
    });
}

#[test]
fn a_page_has_unknown_fields_of_the_environment() {
    each(|kept, old| {
        let page = kept.stdout_of(&["report", &kept.id]);
        for name in [FIELD, "cpu.field_of_tomorrow"] {
            assert!(page.contains(name), "{}: {name}", old.name());
        }
        assert_eq!(page.matches(VALUE).count(), 2, "{}", old.name());
    });
}

#[test]
fn page_shows_an_unknown_warning_unchanged() {
    each(|kept, old| {
        let page = kept.stdout_of(&["report", &kept.id]);
        assert!(page.contains("Warning: it smokes [smoke]. Remedy: open a window"), "{}", old.name());
        assert!(page.contains("Warning: warning `silent` of another version [silent]."), "{}", old.name());
    });
}

#[test]
fn unknown_field_is_a_difference_of_a_comparison() {
    each(|kept, old| {
        let again = kept.archive.file("again.json", &old.again());
        let text = kept.stdout_of(&["compare", &kept.id, &again]);
        assert!(
            text.contains(FIELD) && text.lines().any(|line| line.starts_with("warnings ")),
            "{}: {text}",
            old.name()
        );
        let answer: Value =
            serde_json::from_str(&kept.stdout_of(&["compare", &kept.id, &again, "--format", "json"])).unwrap();
        for part in ["environment", "parameters"] {
            let differences = answer[part].as_array().unwrap();
            assert!(differences.contains(&json!({"name": FIELD, "values": [VALUE, "–"]})), "{}: {answer}", old.name());
        }
        let warnings = answer["environment"].as_array().unwrap().iter().find(|found| found["name"] == "warnings");
        assert!(warnings.unwrap()["values"][0].as_str().unwrap().ends_with("silent smoke"), "{}: {answer}", old.name());
        let is_ratio = |line: &Value| line["ratio"].as_f64().is_some_and(|ratio| (ratio - 1.5).abs() < 1e-9);
        assert!(answer["cells"].as_array().unwrap().iter().any(is_ratio), "{}", old.name());
    });
}

#[test]
fn records_with_unknown_fields_are_in_a_trend() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let mut ids = Vec::new();
    all().iter().for_each(|old| ids.push(Kept::of(&of_tomorrow(old.record.clone()), &mut archive).id));
    let stdout_of = |arguments: &[&str]| String::from_utf8(archive.contend(arguments).stdout).unwrap();
    let trends: Value = serde_json::from_str(&stdout_of(&["history", "trend", "--format", "json"])).unwrap();
    let points = trends.as_array().unwrap().iter().flat_map(|series| series["points"].as_array().unwrap());
    let found: Vec<&Value> = points.map(|point| &point["record"]).collect();
    for (id, old) in ids.iter().zip(all()) {
        assert!(found.iter().any(|record| **record == id.as_str()), "{}", old.name());
    }
    assert!(!stdout_of(&["history", "trend"]).contains("left out"));
}

#[test]
fn a_record_of_a_newer_layout_is_refused_by_its_version() {
    if !has_git() {
        return;
    }
    let mut record = all().into_iter().find(|old| old.name() == "latency").unwrap().record;
    record["schema"] = json!("contend/2");
    let mut archive = Archive::new();
    let kept = Kept::of(&record, &mut archive);
    kept.assert_refused(&["contend/2", "contend/1"]);
    kept.assert_listed_and_left_out();
    for format in ["json", "csv"] {
        let output: Output = kept.archive.contend(&["history", "show", &kept.id, "--format", format]);
        assert!(String::from_utf8_lossy(&output.stderr).contains("contend/2") && output.stdout.is_empty(), "{format}");
    }
}

#[test]
fn a_record_of_an_unknown_experiment_is_refused_by_its_name() {
    if !has_git() {
        return;
    }
    let mut record = all().into_iter().find(|old| old.name() == "latency").unwrap().record;
    record["experiment"] = json!("cooking");
    let mut archive = Archive::new();
    let kept = Kept::of(&record, &mut archive);
    kept.assert_refused(&["cooking"]);
    kept.assert_listed_and_left_out();
    assert!(kept.stdout_of(&["history", "list", "--experiment", "cooking"]).contains(&kept.id[..10]));
}

#[test]
fn a_survey_with_an_unknown_experiment_is_refused_by_its_name() {
    if !has_git() {
        return;
    }
    let mut record = all().into_iter().find(|old| old.experiment() == "survey").unwrap().record;
    record["results"].as_array_mut().unwrap().push(json!({"experiment": "cooking", "figure_ns": 1.0}));
    let mut archive = Archive::new();
    Kept::of(&record, &mut archive).assert_refused(&["cooking"]);
}
