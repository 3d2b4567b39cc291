//! Records that no run wrote: every reader ends soon, and nothing in them controls the terminal.

use crate::command::archive::{Archive, has_git};
use crate::command::stored::{Old, all};
use crate::command::typed::typed;
use serde_json::{Value, json};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The time limit: far above the time of any reader; an endless loop exceeds it.
const PATIENCE: Duration = Duration::from_secs(300);

/// Returns the output on stdout and stderr; the run must end by itself, with success or with a message.
fn read_by(archive: &Archive, arguments: &[&str]) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_contend"))
        .args(arguments)
        .env("CONTEND_ARCHIVE", &archive.path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let listener = std::thread::spawn(move || {
        let mut output = String::new();
        stdout.read_to_string(&mut output).and_then(|_| stderr.read_to_string(&mut output)).map(|_| output)
    });
    let began = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if began.elapsed() > PATIENCE => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{arguments:?} does not end");
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let output = listener.join().unwrap().unwrap();
    assert!(matches!(status.code(), Some(0..=3)), "{arguments:?}: {status}\n{output}");
    assert!(!output.contains("panicked"), "{arguments:?}: {output}");
    output
}

/// Changes every number below this value.
fn change(value: &mut Value, number: &dyn Fn(&Value) -> Value) {
    match value {
        Value::Number(_) => *value = number(value),
        Value::Array(all) => all.iter_mut().for_each(|one| change(one, number)),
        Value::Object(fields) => fields.values_mut().for_each(|one| change(one, number)),
        _ => {}
    }
}

fn with_numbers(old: &Old, number: &dyn Fn(&Value) -> Value) -> Value {
    let mut record = old.record.clone();
    change(&mut record["results"], number);
    change(&mut record["parameters"], number);
    record
}

/// Returns a number of the same kind: a count stays one.
fn fraction(of: f64) -> impl Fn(&Value) -> Value {
    move |old| if old.is_f64() { json!(of) } else { old.clone() }
}

#[test]
fn zero_on_a_logarithmic_axis_does_not_hang() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    for (name, field, zero) in [("clock", "slice_us", json!(0.0)), ("model-step", "nodes", json!(0))] {
        let old = all().into_iter().find(|old| old.name() == name).unwrap();
        let mut record = old.record.clone();
        let row = record["results"].as_array_mut().unwrap().iter_mut().find(|row| row.get(field).is_some());
        row.unwrap()[field] = zero;
        let shown = {
            let id = archive.insert(&record);
            read_by(&archive, &["history", "show", &id])
        };
        assert!(shown.contains("not drawn: outside the axes"), "{shown}");
    }
}

#[test]
fn hostile_numbers_do_not_hang_or_break_readers() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let zero = |old: &Value| if old.is_f64() { json!(0.0) } else { json!(0) };
    for old in all() {
        for number in [&zero as &dyn Fn(&Value) -> Value, &fraction(-1.0), &fraction(1e300), &fraction(f64::MAX)] {
            let record = with_numbers(&old, number);
            {
                let id = archive.insert(&record);
                read_by(&archive, &["history", "show", &id])
            };
            let file = archive.file("record.json", &record.to_string());
            read_by(&archive, &["report", &file]);
            read_by(&archive, &["compare", old.path.to_str().unwrap(), &file]);
        }
    }
}

/// A title for the terminal, a C1 control that clears it, a change to right-to-left, an invisible mark, and a line.
const EVIL: &str = "\u{1b}]0;evil\u{7}\u{9b}2J\u{202e}\u{200b}\narchived as 0123456789";

/// Appends the hostile text to every string below this value, if its field is selected.
fn spoil(value: &mut Value, field: &str, is_free: &dyn Fn(&str) -> bool) {
    match value {
        Value::String(text) if is_free(field) => text.push_str(EVIL),
        Value::Array(all) => all.iter_mut().for_each(|one| spoil(one, field, is_free)),
        Value::Object(fields) => fields.iter_mut().for_each(|(name, one)| spoil(one, name, is_free)),
        _ => {}
    }
}

/// The fields of an environment that may have any text; other changes would make the record unreadable.
const FREE: [&str; 7] = ["command_line", "model", "microcode", "release", "version", "clock_source", "retbleed"];

/// Returns a record with hostile text in the free text of the machine, of warnings, and in names in rows.
fn spoiled(old: &Old) -> Value {
    let mut record = old.record.clone();
    let names = ["name", "lock", "contestant", "words", "file", "cell", "fallback"];
    spoil(&mut record["results"], "", &|field| names.contains(&field));
    spoil(&mut record["environment"], "", &|field| FREE.contains(&field));
    spoil(&mut record["warnings"], "", &|field| field != "code");
    record
}

fn assert_harmless(output: &str, of: &[&str]) {
    let raw = output.chars().find(|letter| {
        let is_control = letter.is_control() && !matches!(letter, '\n' | '\t');
        is_control || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{200b}'..='\u{200f}')
    });
    assert_eq!(raw, None, "{of:?} lets it through: {output:?}");
}

#[test]
fn text_of_a_record_is_escaped_on_a_terminal() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let mut shown = String::new();
    for old in all() {
        let record = spoiled(&old);
        let id = archive.insert(&record);
        let (mut again, name) = (record.clone(), "evil\u{1b}]0;evil\u{7}.json");
        again["environment"]["seed"] = json!(77);
        let (one, other) = (archive.file(name, &record.to_string()), archive.file("b.json", &again.to_string()));
        let views: [&[&str]; 7] = [
            &["history", "show", &id],
            &["history", "show", &id, "--format", "csv"],
            &["compare", &one, &other],
            &["compare", &one, &other, "--format", "csv"],
            &["compare", &one, "\u{1b}]0;evil\u{7}"],
            &["report", &one, "\u{1b}]0;evil\u{7}"],
            &["history", "verify", &one],
        ];
        for view in views {
            let output = read_by(&archive, view);
            assert!(!output.contains("cannot read the record;"), "{view:?}: {output}");
            assert_harmless(&output, view);
            shown.push_str(&output);
        }
    }
    for view in [&["history"][..], &["history", "trend"], &["history", "trend", EVIL], &["latency", "--lock", EVIL]] {
        assert_harmless(&read_by(&archive, view), view);
    }
    assert!(shown.contains("evil\\u{7}\\u{9b}2J\\u{202e}"), "it is shown, and does nothing");
}

/// Programs receive the stored bytes; a user at a terminal sees the same values.
#[test]
fn json_is_exact_in_a_pipe() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let record = spoiled(&all()[0]).to_string();
    let id = archive.insert_bytes(&record);
    assert_eq!(read_by(&archive, &["history", "export", &id, "-"]), record);
    let show = ["history", "show", &id, "--format", "json"];
    assert_eq!(read_by(&archive, &show), record);
    let (status, seen) = typed(&show, &[("CONTEND_ARCHIVE", archive.path.to_str().unwrap())]);
    assert!(status.success(), "{seen}");
    assert_harmless(&seen.replace("\r\n", "\n"), &show);
    assert_eq!(serde_json::from_str::<Value>(&seen).unwrap(), serde_json::from_str::<Value>(&record).unwrap());
}

/// A name from another program or from a file, which a spreadsheet would evaluate.
const FORMULA: &str = "=HYPERLINK(\"http://evil\",\"x\")";

#[test]
fn csv_cells_are_never_formulas_and_numbers_stay_numbers() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let old = all().into_iter().find(|old| old.name() == "latency").unwrap();
    let mut record = old.record.clone();
    for row in record["results"].as_array_mut().unwrap() {
        row["lock"] = json!(FORMULA);
        row["min_ns"] = json!(-1.5);
    }
    let id = archive.insert(&record);
    let mut again = record.clone();
    again["environment"]["seed"] = json!(77);
    let (one, other) = (archive.file("=1.json", &record.to_string()), archive.file("b.json", &again.to_string()));
    for view in [&["history", "show", &id][..], &["compare", &one, &other]] {
        let output = read_by(&archive, &[view, &["--format", "csv"]].concat());
        let cells: Vec<String> = csv_cells(&output);
        let is_formula = |cell: &&String| cell.starts_with(['=', '+', '@']) || cell.starts_with("-H");
        assert_eq!(cells.iter().find(is_formula), None, "{view:?}");
        assert!(cells.iter().any(|cell| cell.starts_with("'=HYPERLINK")), "{view:?}: {output}");
    }
    assert!(read_by(&archive, &["history", "show", &id, "--format", "csv"]).contains(",-1.5,"));
}

/// Parses cells of RFC 4180: quotes around a cell, doubled within.
fn csv_cells(text: &str) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' | '\n' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    cells
}

/// A page and the JSON of an answer are read by browsers and by programs that print it.
#[test]
fn pages_and_json_have_no_reversed_text() {
    if !has_git() {
        return;
    }
    let archive = Archive::new();
    let latency = all().into_iter().find(|old| old.name() == "latency").unwrap();
    let record = spoiled(&latency);
    let mut again = record.clone();
    again["environment"]["seed"] = json!(77);
    let (one, other) = (archive.file("a.json", &record.to_string()), archive.file("b.json", &again.to_string()));
    for view in [&["report", &one][..], &["report", &one, &other], &["compare", &one, &other, "--format", "json"]] {
        let output = read_by(&archive, view);
        assert_harmless(&output, view);
        assert!(output.contains("202e"), "{view:?}: the text is there, and visible");
    }
}
