//! The forms: their command lines, the values that are refused, the lists, and the runs that they start.

use crate::command::archive::{Archive, has_git};
use crate::command::screen::{WELCOME, screen};
use crate::command::stored::all;
use crate::command::terminal::Terminal;
use experiments::ALL;
use serde_json::json;
use std::process::{Command, Stdio};

/// Returns the command line at the bottom, on one line.
fn line(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("$ contend ")).expect("a command line");
    line.split("  ").next().unwrap().to_owned()
}

/// Opens the form of an experiment by the menu, with its number there.
fn open(terminal: &mut Terminal, number: usize, name: &str) -> String {
    terminal.does(&format!("m{}", "\x1b[B".repeat(number)), &format!("$ contend {name}"));
    terminal.does("\r", "[ Run ]")
}

fn number(name: &str) -> usize {
    1 + ALL.iter().position(|entry| entry.name == name).unwrap()
}

/// With `--explain` the command parses the line and measures nothing.
#[test]
fn command_line_of_each_form_is_accepted() {
    let needed = [
        ("trace", "\x1b[Btrue"),
        ("preempted", "\x1b[Btrue"),
        ("lines", "\x1b[Btrue"),
        ("ab", "true 'sleep 0'"),
        ("model step", "gaps"),
        ("lockstep", "job.json"),
    ];
    let mut terminal = screen(200, 50);
    let names = std::iter::once("survey").chain(ALL.iter().map(|entry| entry.name));
    for (number, name) in names.enumerate() {
        let text = open(&mut terminal, number, name);
        let typed = needed.iter().find(|(needing, _)| *needing == name);
        assert_eq!(typed.is_some(), text.contains("needs "), "{name}\n{text}");
        if let Some((_, keys)) = typed {
            terminal.types(keys.as_bytes());
            terminal.wait_for("no refusal", |text| !text.contains("needs "));
        }
        let line = line(&terminal.text());
        if number > 0 {
            let (name, rest) = line.split_at(name.len());
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exec \"$0\" {name} --explain{rest}"), env!("CARGO_BIN_EXE_contend")]);
            let output = shell.stdin(Stdio::null()).output().unwrap();
            assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
        }
        terminal.types(b"\x1b");
        terminal.wait_for("the menu", |text| !text.contains("[ Run ]"));
        terminal.types(b"\x1b");
        terminal.until(WELCOME);
    }
    terminal.types(b"q");
    terminal.end();
}

#[test]
fn refused_value_has_its_reason_beside_it() {
    let mut terminal = screen(80, 24);
    open(&mut terminal, number("latency"), "latency");
    terminal.does("\x1b[B1,x", "invalid digit");
    terminal.does("\x1b[6~", "correct the refused value");
    // Run does not start what the parser refuses.
    terminal.types(b"\r");
    terminal.does("\x1b[5~\x1b[B\x7f2", "--threads 1,2");
    let text = terminal.wait_for("no refusal", |text| !text.contains("invalid digit"));
    assert!(!text.contains("measuring"), "{text}");
    terminal.does("\x1b[B3 parsecs", "--hold: ");
    terminal.types(b"\x03");
    terminal.end();
}

#[test]
fn list_filters_by_typing_and_marks_several() {
    let mut terminal = screen(80, 24);
    let text = open(&mut terminal, number("latency"), "latency");
    assert!(text.contains("sysv,benaphore,std"), "the default is shown\n{text}");
    terminal.does("clh", "filter: clh");
    terminal.does("\r", "$ contend latency --lock clh");
    terminal.does("\x1b[Amcs", "filter: mcs");
    terminal.types(b" ");
    terminal.does("\x7f\x7f\x7fstd ", "✓ std");
    terminal.does("\r", "--lock mcs,std");
    // Opening the list and taking its value changes nothing.
    terminal.does("\x1b[A\r", "✓ mcs");
    terminal.types(b"\r");
    terminal.wait_for("the form", |text| !text.contains("filter: ") && text.contains("--lock mcs,std --seconds"));
    // The next value of a list, and the default again.
    terminal.does("\x1b[A\x7f", "$ contend latency --seconds");
    terminal.does("\r", "default            sysv,benaphore");
    terminal.types(b"\r\x1b[A");
    terminal.wait_for("the form", |text| !text.contains("filter: ") && text.contains("$ contend latency --seconds"));
    terminal.does("\x1b[C", "--lock sysv");
    terminal.types(b"\x03");
    terminal.end();
}

#[test]
fn clicks_choose_a_field_and_a_value() {
    let mut terminal = screen(80, 24);
    let text = open(&mut terminal, number("noise"), "noise");
    let line_of = |text: &str, words: &str| text.lines().position(|line| line.contains(words)).unwrap() + 1;
    let click = |line: usize| format!("\x1b[<0;4;{line}M\x1b[<0;4;{line}m");
    terminal.does(&click(line_of(&text, "--wake")), "Measure wake-up latency instead");
    terminal.does("1ms", "--wake 1ms");
    // The second click opens the list.
    let scenario = click(line_of(&text, "--scenario"));
    terminal.does(&scenario, "Load next to the sampling thread");
    let list = terminal.does(&scenario, "filter: _");
    let line = line_of(&list, "   quiet ");
    terminal.does(&click(line), "--scenario quiet");
    terminal.until("cannot be used with");
    terminal.types(b"\x03");
    terminal.end();
}

#[test]
fn values_of_the_last_run_are_remembered() {
    let mut terminal = screen(80, 24);
    open(&mut terminal, number("model frames"), "model frames");
    terminal.does("\x1b[B\x1b[B1ms", "--quantum 1ms");
    terminal.does("\x1b[6~\r", "done");
    terminal.does("\x1b", WELCOME);
    let text = open(&mut terminal, number("model frames"), "model frames");
    assert_eq!(line(&text), "model frames --quantum 1ms");
    terminal.types(b"\x03");
    terminal.end();
}

#[test]
fn question_of_the_empty_window_opens_its_form() {
    let mut terminal = screen(80, 24);
    terminal.until("My program is slow");
    terminal.does("\r", "trace: Trace a program's locks");
    let text = terminal.does("?", "keys: a form");
    assert!(text.contains("--pid: Attach to a running process"), "{text}");
    terminal.types(b"x");
    terminal.does("\x1b", WELCOME);
    let text = terminal.does("?", "keys: the empty window");
    assert!(text.contains("choose a question"), "{text}");
    terminal.types(b"x");
    terminal.does("\x1b[B\r", "latency: Measure every lock");
    terminal.does("\x1b[B?", "--threads: Number of threads");
    terminal.types(b"x\x1b");
    terminal.until(WELCOME);
    terminal.does("m?", "keys: a menu");
    terminal.types(b"xq");
    terminal.end();
}

#[test]
fn last_record_is_shown_with_its_verdict() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let mut trace = all().into_iter().find(|old| old.experiment() == "trace").unwrap().record;
    trace["parameters"]["verdict_reason"] = json!("The threads wait for one lock: cache_lock.");
    archive.insert(&trace);
    let mut terminal = Terminal::screen(80, 24, archive.path.to_str().unwrap());
    let text = terminal.until("The threads wait for one lock: cache_lock.");
    assert!(text.contains("Last record, 2023-11-14"), "{text}");
    let trace = "\x1b[B".repeat(number("trace"));
    terminal.does(&format!("m{trace}"), "wait for one lock");
    terminal.does("\x1b[H\x1b[B", "No record of this experiment so far.");
    terminal.types(b"q");
    terminal.end();
}

/// The process is chosen from the list by its command line.
#[test]
fn running_process_is_chosen_from_a_list() {
    let mut sleep = Command::new("sleep").arg("361.9731").spawn().unwrap();
    let mut terminal = screen(80, 24);
    terminal.does("\r", "[ Run ]");
    terminal.does("\r", "command line");
    terminal.does("361.9731", "sleep 361.9731");
    terminal.does("\r", &format!("$ contend trace --pid {}", sleep.id()));
    terminal.does("true", "cannot be used with");
    terminal.types(b"\x03");
    terminal.end();
    sleep.kill().unwrap();
    sleep.wait().unwrap();
}
