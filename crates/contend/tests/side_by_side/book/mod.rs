//! The book and README: their commands do what they show, their pages are in the book, their pictures are made.

mod blocks;
mod pages;
mod session;
mod shape;

use crate::command::held;

use blocks::Block;
use pages::Page;
use session::{Session, Step};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

/// The kinds of code blocks in the book and README.
///
/// Only `console` has commands.
const KINDS: [&str; 5] = ["console", "text", "rust", "c", "json"];

/// The number of pages at once: more than there are CPUs, since measurements also wait; shapes are not affected.
const PAGES_AT_ONCE: usize = 3;

/// The beginnings of lines that a user would type.
const CALLS: [&str; 6] = ["$ ", "contend ", "cargo ", "sudo ", "export ", "git "];

fn consoles(page: &Page) -> Vec<Block> {
    let blocks = blocks::of(&page.name, &page.text).into_iter();
    blocks.filter(|block| block.info.as_deref() == Some("console")).collect()
}

/// Returns all faults of a block's run.
fn faults(block: &Block, steps: &[Step], stderr: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        let may = |status: i32| match place + 1 == steps.len() && !block.notes.exits.is_empty() {
            true => block.notes.exits.contains(&status),
            false => status == 0,
        };
        let mut found = shape::differences(block, step);
        if !may(step.status) {
            found.push(format!("ended with {}\n{stderr}", step.status));
        }
        if !found.is_empty() {
            let context = format!("it printed:\n{}", step.printed);
            faults.push(format!("{}: {}\n  {}\n{context}", block.place, step.command, found.join("\n  ")));
        }
    }
    faults
}

#[derive(Default)]
struct Account {
    ran: usize,
    skipped: Vec<String>,
    faults: Vec<String>,
}

/// Runs a page's blocks in their order, in one session.
fn follow(page: &Page, account: &Mutex<Account>) {
    let session = Session::new();
    for block in consoles(page) {
        if let Some(need) = session::lacking(&block) {
            account.lock().unwrap().skipped.push(format!("{}: skipped: needs {need}", block.place));
            continue;
        }
        let begun = Instant::now();
        let (steps, stderr) = session.run(&block);
        let mut account = account.lock().unwrap();
        println!("{}: {} commands in {:.1?}", block.place, steps.len(), begun.elapsed());
        account.ran += steps.len();
        account.faults.extend(faults(&block, &steps, &stderr));
    }
    for picture in pictures(page) {
        let name = picture.file_name().unwrap();
        let drawn = fs::read_to_string(session.here().join(name)).unwrap_or_default();
        if !drawn.starts_with("<svg") {
            let fault = format!("{}: no command of it that ran draws {}", page.name, name.display());
            account.lock().unwrap().faults.push(fault);
        }
    }
}

/// Returns the drawings that a page shows, in the repository, and that its commands draw. A browser makes the pictures of
/// pages (the test `page_in_browser`), and the tests of the screen those of the screen.
fn pictures(page: &Page) -> Vec<PathBuf> {
    let folder = pages::root().join(&page.name).parent().unwrap().to_owned();
    let shown = page.text.split("![").skip(1).filter_map(|rest| rest.split_once("](")?.1.split_once(')'));
    let drawn = shown.filter(|(path, _)| path.ends_with(".svg") && !path.contains("/screen-"));
    drawn.map(|(path, _)| folder.join(path)).collect()
}

#[test]
fn every_command_prints_the_output_on_its_page() {
    held::reports();
    let pages: Vec<Page> = pages::own().into_iter().chain(pages::of_the_repository()).collect();
    let (account, next) = (Mutex::new(Account::default()), Mutex::new(pages.iter()));
    std::thread::scope(|scope| {
        for _ in 0..PAGES_AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(page) = next.lock().unwrap().next() else { break };
                    follow(page, &account);
                }
            });
        }
    });
    let account = account.into_inner().unwrap();
    println!("{} commands ran; {} blocks did not:", account.ran, account.skipped.len());
    account.skipped.iter().for_each(|skipped| println!("{skipped}"));
    assert!(account.faults.is_empty(), "{}", account.faults.join("\n"));
    assert!(account.ran >= 35, "only {} commands were found", account.ran);
}

#[test]
fn commands_appear_only_in_tested_blocks() {
    let mut faults = Vec::new();
    for page in pages::own() {
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

/// The pages of the experiments are printed by `--explain` too, and show calls without their output.
#[test]
fn every_call_on_a_page_of_the_repository_is_parsed() {
    let (mut calls, mut faults) = (0, Vec::new());
    for page in pages::of_the_repository() {
        for block in blocks::of(&page.name, &page.text).into_iter().filter(|block| block.info.is_none()) {
            for line in block.text.lines() {
                let Some(call) = line.trim_start_matches("sudo ").strip_prefix("contend ") else { continue };
                let call = call.split(" #").next().unwrap().split(" -- ").next().unwrap();
                let is_of_another_program = OTHER_PROGRAMS.iter().any(|name| call.starts_with(name));
                if is_of_another_program || call.split(' ').any(is_to_be_filled_in) {
                    continue;
                }
                let arguments = format!("{} {call} --help", env!("CARGO_BIN_EXE_contend"));
                let output = Command::new("sh").args(["-c", &arguments]).env("CONTEND_ARCHIVE", "").output().unwrap();
                calls += 1;
                if !output.status.success() {
                    let stderr = String::from_utf8_lossy(&output.stderr);
                    faults.push(format!("{}: {line}\n{stderr}", block.place));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(calls >= 15, "only {calls} calls were found");
}

#[test]
fn every_page_is_in_the_summary_exactly_once() {
    let summary = fs::read_to_string(pages::source().join("SUMMARY.md")).unwrap();
    let entries = summary.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(path, _)| path);
    let mut listed: Vec<PathBuf> = entries.map(PathBuf::from).collect();
    listed.sort();
    let written: Vec<PathBuf> = pages::files().into_iter().filter(|file| file != Path::new("SUMMARY.md")).collect();
    assert_eq!(listed, written, "SUMMARY.md has one, the folder the other");
    for file in written.iter().filter(|file| pages::is_of_the_repository(file)) {
        let leads = pages::source().join(file).canonicalize().unwrap();
        assert_eq!(
            leads,
            pages::root().join(file).canonicalize().unwrap(),
            "a page stands where it stands in the tree"
        );
    }
}

/// A value is meaningful only with its machine.
#[test]
fn figures_name_their_machine() {
    let mut faults = Vec::new();
    for page in pages::own() {
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
