//! The book and README: their blocks and pages, and the calls on them. The test `book` of the program `measured` runs the
//! commands.

use crate::pages::session::{self, Step};
use crate::pages::{self, blocks, files, shape};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kinds of code blocks in the book and README.
///
/// Only `console` has commands.
const KINDS: [&str; 5] = ["console", "text", "rust", "c", "json"];

/// The beginnings of lines that a user would type.
const CALLS: [&str; 6] = ["$ ", "contend ", "cargo ", "sudo ", "export ", "git "];

#[test]
fn commands_appear_only_in_tested_blocks() {
    let mut faults = Vec::new();
    for page in files::own() {
        for block in blocks::of(&page.name, &page.text) {
            let info = block.info.as_deref();
            if !info.is_some_and(|info| KINDS.contains(&info)) {
                faults.push(format!("{}: a block of {KINDS:?}, not {info:?}", block.place));
            }
            let typed = |line: &str| CALLS.iter().any(|call| line.starts_with(call));
            if info != Some("console") && block.text.lines().any(typed) {
                faults.push(format!("{}: a command in a block that is no console", block.place));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns whether the word is a placeholder, such as `NON-HOLD`.
fn is_to_be_filled_in(word: &str) -> bool {
    word.len() > 2 && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '-')
}

/// The commands that are other programs, whose flags contend does not parse.
const OTHER_PROGRAMS: [&str; 2] = ["serve ", "fetch "];

/// Returns the calls of contend on the pages, each with its place: those with their output, and those without one, which
/// `--explain` prints too.
fn calls() -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for page in files::own() {
        for block in pages::consoles(&page) {
            let steps = session::steps(&block);
            lines.extend(steps.into_iter().map(|step| (block.place.clone(), step.command)));
        }
    }
    for page in files::of_the_repository() {
        for block in blocks::of(&page.name, &page.text).into_iter().filter(|block| block.info.is_none()) {
            lines.extend(block.text.lines().map(|line| (block.place.clone(), line.to_owned())));
        }
    }
    let call = |(place, line): (String, String)| {
        let call = line.trim_start_matches("sudo ").strip_prefix("contend ")?;
        let end = [" #", " -- ", " | ", " > ", " >", " && ", ";"].iter().filter_map(|end| call.find(end)).min();
        let call = &call[..end.unwrap_or(call.len())];
        let is_of_another_program = OTHER_PROGRAMS.iter().any(|name| call.starts_with(name));
        let is_complete = !is_of_another_program && !call.split(' ').any(is_to_be_filled_in);
        is_complete.then(|| (place, call.to_owned()))
    };
    lines.into_iter().filter_map(call).collect()
}

#[test]
fn every_call_on_a_page_is_parsed() {
    let (calls, mut faults) = (calls(), Vec::new());
    for (place, call) in &calls {
        let arguments = format!("{} {call} --help", env!("CARGO_BIN_EXE_contend"));
        let output = Command::new("sh").args(["-c", &arguments]).env("CONTEND_ARCHIVE", "").output().unwrap();
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            faults.push(format!("{place}: {call}\n{stderr}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(calls.len() >= 45, "only {} calls were found", calls.len());
}

#[test]
fn every_page_is_in_the_summary_exactly_once() {
    let summary = fs::read_to_string(files::source().join("SUMMARY.md")).unwrap();
    let entries = summary.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(path, _)| path);
    let mut listed: Vec<PathBuf> = entries.map(PathBuf::from).collect();
    listed.sort();
    let written: Vec<PathBuf> = files::files().into_iter().filter(|file| file != Path::new("SUMMARY.md")).collect();
    assert_eq!(listed, written, "SUMMARY.md has one, the folder the other");
    for file in written.iter().filter(|file| files::is_of_the_repository(file)) {
        let leads = files::source().join(file).canonicalize().unwrap();
        assert_eq!(
            leads,
            files::root().join(file).canonicalize().unwrap(),
            "a page stands where it stands in the tree"
        );
    }
}

/// A value is meaningful only with its machine.
#[test]
fn figures_name_their_machine() {
    let mut faults = Vec::new();
    for page in files::own() {
        for block in blocks::of(&page.name, &page.text) {
            let has_times = block.text.lines().any(|line| [" ns", " µs", " ms"].iter().any(|unit| line.contains(unit)));
            if has_times && !block.above.contains("Linux 6.") {
                faults.push(format!("{}: on which machine?", block.place));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the differences that a run of the page would report.
fn reported_differences(shown: &str, printed: &str, by_chance: &str) -> Vec<String> {
    let page = format!("<!-- test\nby chance: {by_chance}\n-->\n```console\n$ contend\n{shown}\n```\n");
    let block = blocks::of("a page", &page).pop().unwrap();
    let shown = shown.lines().map(str::to_owned).collect();
    shape::differences(&block, &Step { command: "contend".into(), shown, printed: printed.into(), status: 0 })
}

#[test]
fn different_numbers_have_the_same_shape_but_words_differ() {
    const PAGE: &str = "lock   wait p99\n 1  std    7.96 µs 4.94× (2.21–10.5)\nof record 29aa5f11e4";
    let differ = |printed: &str| reported_differences(PAGE, printed, "never").len();
    assert_eq!(differ("lock wait p99\nof record 0c1b5f11e4\n 2 std 1,200 ns 12×"), 0);
    assert_eq!(differ("lock wait p99\nof record 0c1b5f11e4\n 2 std – 12× (1.00–∞)"), 0);
    assert_eq!(differ("lock wait p99\nof record 9982978787\n 2 std 1 ns 2×"), 0, "a name of digits alone");
    assert_eq!(differ("lock wait p99.9\nof record 0c1b5f11e4\n 2 std 1.2 ns 12×"), 2, "another heading");
    assert_eq!(differ("lock wait p99\nof record 0c1b5f11e4\n 2 std 1.2 % 12×"), 2, "another unit");
    assert_eq!(differ("lock wait p99\nof record 0c1b5f11e4"), 1, "a line too few");
    assert_eq!(differ("lock wait p99\nof record 0c1b5f11e4\n 2 std 1 ns 2×\nmore"), 1, "a line too many");
    assert_eq!(reported_differences("   0ns   1.6µs", "   19ms", "never").len(), 0, "an axis with one number");
    assert_eq!(reported_differences("one\n…", "one\nand more", "never").len(), 0);
    assert_eq!(reported_differences("one\ntwo 1", "one", "^two").len(), 0);
    assert_eq!(reported_differences("one\ntwo", "", ".").len(), 1, "nothing is compared");
}
