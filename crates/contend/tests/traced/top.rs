//! `contend top` on its own terminal: a program of known waits, driven by keys.

use crate::command::archive::has_git;
use crate::command::held;
use crate::command::terminal::Terminal;
use crate::programs::Programs;
use std::path::Path;
use std::process::{Command, Stdio};

fn command(archive: &str, words: &[&str]) -> Command {
    held::reports();
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.arg("top").args(words).env("CONTEND_ARCHIVE", archive);
    command
}

fn top(size: (u16, u16), archive: &str, patients: &Path, words: &[&str]) -> Terminal {
    let words = [&["--", patients.to_str().unwrap()], words].concat();
    Terminal::start(command(archive, &words), size.0, size.1)
}

#[test]
fn keys_show_the_story_sort_pause_and_keep_the_record() {
    let programs = Programs::new();
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    let archive = programs.path("archive.git");
    let archive = if has_git() { archive.to_str().unwrap() } else { "" };
    for size in [(80, 24), (200, 50)] {
        let mut terminal = top(size, archive, &patients, &["sleeps", "600000"]);
        let text = terminal.until("cache_lock");
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(size.0)), "{text}");
        for words in ["running", "Thread time", "lock (by waited now)", "in total", "q: save and quit"] {
            assert!(text.contains(words), "no {words:?} in\n{text}");
        }
        terminal.does("\r", "Waited at ");
        terminal.until("write_back");
        terminal.does("\x1b", "lock (by waited now)");
        terminal.does("s", "lock (by waited in total)");
        terminal.does("p", "paused at ");
        terminal.types(b"p");
        terminal.wait_for("the view goes on", |text| !text.contains("paused at "));
        terminal.does("?", "show the story of the lock");
        terminal.types(b"xq");
        let (status, text) = terminal.end();
        assert!(status.success() && text.contains("Thread time") && text.contains("cache_lock"), "{status}\n{text}");
    }
    if !archive.is_empty() {
        let mut list = Command::new(env!("CARGO_BIN_EXE_contend"));
        let list = list.args(["history", "list", "--archive", archive]).output().unwrap();
        let list = String::from_utf8(list.stdout).unwrap();
        assert_eq!(list.matches("patients sleeps").count(), 2, "{list}");
    }
}

#[test]
fn ended_program_leaves_its_last_view_until_a_key() {
    let programs = Programs::new();
    let Some(patients) = programs.compiled("patients", &["-O2"]) else { return };
    let mut terminal = top((80, 24), "", &patients, &["sleeps", "1200"]);
    let text = terminal.until("the trace has ended");
    assert!(text.contains("cache_lock") && text.contains(" ended"), "{text}");
    terminal.types(b"q");
    let (status, text) = terminal.end();
    assert!(status.success() && text.contains("Thread time"), "{status}\n{text}");
}

/// The waits for the first lock are over before the first snapshot, so their maximum must outlive the snapshots.
#[test]
fn snapshots_leave_the_maxima_of_the_record_unchanged() {
    let programs = Programs::new();
    let Some(known) = programs.compiled("known", &[]) else { return };
    let file = programs.path("record.json");
    held::reports();
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" trace --live-to=3 --format json --output \"$1\" -- \"$2\" 300 3>&1 >&2"]);
    shell.arg(env!("CARGO_BIN_EXE_contend")).args([&file, &known]).env("CONTEND_ARCHIVE", "");
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let snapshots = String::from_utf8(output.stdout).unwrap();
    assert!(snapshots.matches("\"sentences\"").count() >= 2 && snapshots.contains("\"first_lock\""), "{snapshots}");
    let record = crate::command::read(&std::fs::read(&file).unwrap());
    let rows = record["results"].as_array().unwrap();
    let first = rows.iter().find(|row| row["kind"] == "lock" && row["lock"] == "first_lock").unwrap();
    let value = |name: &str| first[name].as_f64().unwrap();
    assert!(value("wait_max_ns") >= value("wait_total_s") * 1e9 / value("contended"), "{first:#}");
    assert!(value("hold_max_ns") > 0.0, "{first:#}");
}
