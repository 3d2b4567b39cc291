//! The sources of the records and the destination of the page; and refused calls.

use super::well_formed::assert_well_formed;
use crate::command::archive::{Archive, has_git};
use crate::command::contend;
use crate::command::report::written;
use crate::command::stored::latency;
use crate::command::typed::typed;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

#[test]
fn standard_input_is_a_record_too() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    let piped = command.args(["report", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = piped.unwrap();
    child.stdin.take().unwrap().write_all(latency().to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_well_formed(&String::from_utf8(output.stdout).unwrap());
}

/// Returns the exit status and the text on stderr; an old page must stay as it was.
fn refused(folder: &TempDir, record: &Path) -> (i32, String) {
    let page = written(folder, "page.html", "old");
    let output = contend(&["report", record.to_str().unwrap(), "--output", page.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "old", "it was overwritten");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn invalid_record_is_refused_and_overwrites_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let text = latency().to_string();
    let changed = |field: &str, value: Value| {
        let mut record = latency();
        record[field] = value;
        record.to_string()
    };
    let mut broken = latency();
    broken["results"][0]["p50_ns"] = json!("fast");
    let cases: [(&str, String, &[&str]); 9] = [
        ("empty.json", String::new(), &["empty.json", "empty", "--format json"]),
        ("text.json", "hello".into(), &["text.json", "not JSON", "line 1"]),
        ("half.json", text[..text.len() / 2].to_owned(), &["half.json", "truncated"]),
        ("list.json", "[1]".into(), &["not an object"]),
        ("other.json", "{\"a\":1}".into(), &["schema is missing", "contend/1"]),
        ("newer.json", changed("schema", json!("contend/2")), &["contend/2", "newer"]),
        ("unknown.json", changed("experiment", json!("cooking")), &["cooking", "unknown"]),
        ("nothing.json", changed("results", json!([])), &["no results"]),
        ("broken.json", broken.to_string(), &["broken.json", "row 1"]),
    ];
    for (name, content, words) in cases {
        let (status, stderr) = refused(&folder, &written(&folder, name, content));
        assert_eq!(status, 1, "{name}: {stderr}");
        words.iter().for_each(|word| assert!(stderr.contains(word), "{name} should say {word:?}: {stderr}"));
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
    let (status, stderr) = refused(&folder, &folder.path().join("missing.json"));
    assert!(status == 1 && stderr.contains("missing.json"), "{stderr}");
}

#[test]
fn invalid_report_calls_exit_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let record = written(&folder, "record.json", latency().to_string());
    let record = record.to_str().unwrap();
    let cases: [(&[&str], &str); 3] = [
        (&["report", record, record], "twice"),
        (&["report", record, "--format", "json"], "--format"),
        (&["report", record, "--output", record], "overwrite"),
    ];
    for (call, word) in cases {
        let output = contend(call);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(word), "{call:?}: {stderr}");
    }
    assert!(std::fs::read_to_string(record).unwrap().starts_with('{'));
}

/// The source of a page would fill the terminal's scrollback.
#[test]
fn a_page_is_not_printed_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let record = written(&folder, "record.json", latency().to_string());
    let (status, sent) = typed(&["report", record.to_str().unwrap()], &[]);
    assert_eq!(status.code(), Some(2));
    assert!(sent.contains("--output page.html") && !sent.contains("<html"), "{sent}");
}

#[test]
fn records_of_the_archive_are_named_as_for_compare() {
    if !has_git() {
        return;
    }
    let archive = Archive::new();
    archive.keep();
    let last = archive.contend(&["report"]);
    assert!(last.status.success(), "{}", String::from_utf8_lossy(&last.stderr));
    assert_well_formed(&String::from_utf8(last.stdout).unwrap());
    let both = String::from_utf8(archive.contend(&["report", "last~1", "last"]).stdout).unwrap();
    let first = &archive.first()[..10];
    assert!(
        both.contains("Side by side") && both.contains(first),
        "the page names records so that they are found tomorrow"
    );
    let twice = archive.contend(&["report", "last", "last~0"]);
    let stderr = String::from_utf8_lossy(&twice.stderr);
    assert!(twice.status.code() == Some(2) && stderr.contains("last and last~0: the same record"), "{stderr}");
    let none = archive.contend(&["report", "nobody"]);
    let stderr = String::from_utf8_lossy(&none.stderr);
    assert!(none.status.code() == Some(1) && stderr.contains("nobody: not a file, a record"), "{stderr}");
}

#[test]
fn unwritable_page_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let record = written(&folder, "record.json", latency().to_string());
    let place = folder.path().join("no/such/page.html");
    let output = contend(&["report", record.to_str().unwrap(), "--output", place.to_str().unwrap()]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains(place.to_str().unwrap()), "{stderr}");
}

#[test]
fn explain_prints_the_method_and_measures_nothing() {
    for name in ["survey", "clock", "latency", "throughput", "noise", "load", "ring"] {
        let output = contend(&[name, "--seconds", "600", "--explain"]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.starts_with(&format!("# contend {name}\n")), "{name}: {text}");
    }
    let (model, bare) = (contend(&["model", "frames", "--explain"]), contend(&["--explain"]));
    assert!(model.status.success() && model.stdout.starts_with(b"# contend model"));
    assert_eq!(bare.status.code(), Some(2));
}
