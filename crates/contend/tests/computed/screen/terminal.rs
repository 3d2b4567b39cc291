//! The terminal is taken, and restored whatever happens.

use crate::command::screen::{KEYS, WELCOME, screen, wait_until};
use crate::command::terminal::Terminal;
use rustix::process::Signal;
use std::process::{Command, Stdio};

#[test]
fn screen_takes_and_restores_the_terminal() {
    for (columns, lines) in [(80, 24), (200, 50)] {
        let mut terminal = screen(columns, lines);
        assert!(terminal.is_taken());
        terminal.does("?", KEYS);
        terminal.types(b"xq");
        let (status, _) = terminal.end();
        assert!(status.success());
    }
}

/// However it was stopped, the shell finds its terminal, and the screen finds its own again.
#[test]
fn stopped_screen_restores_and_retakes_the_terminal() {
    for by_key in [false, true] {
        let mut terminal = screen(80, 24);
        if by_key {
            terminal.types(b"\x1a")
        } else {
            terminal.signal(Signal::TSTP)
        }
        wait_until("the terminal is given back", || terminal.is_as_before());
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", terminal.id())).unwrap();
        wait_until("it is stopped", || state().contains(") T "));
        terminal.signal(Signal::CONT);
        wait_until("the terminal is taken again", || terminal.is_taken());
        terminal.does("?", KEYS);
        terminal.types(b"xq");
        terminal.end();
    }
}

#[test]
fn screen_without_a_terminal_is_refused() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    let output = command.arg("screen").stdin(Stdio::null()).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("needs a terminal: standard input is not a terminal"), "{message}");
    assert!(output.stdout.is_empty());
}

#[test]
fn dumb_terminal_is_refused_plainly() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "TERM=dumb exec \"$0\" screen", env!("CARGO_BIN_EXE_contend")]);
    let (status, text) = Terminal::start(shell, 80, 24).end();
    assert_eq!(status.code(), Some(1));
    assert!(text.replace(['\r', '\n'], "").contains("TERM is dumb"), "{text}");
}

#[test]
fn screen_has_no_colour_with_no_color() {
    for (variable, has_colour) in [("NO_COLOR=1", false), ("NO_COLOR=", true)] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{variable} exec \"$0\" screen"), env!("CARGO_BIN_EXE_contend")]);
        shell.env("CONTEND_ARCHIVE", "");
        let mut terminal = Terminal::start(shell, 80, 24);
        terminal.until(WELCOME);
        terminal.does("\r", "[ Run ]");
        terminal.wait_for("the whole form", |text| text.contains("--seconds"));
        assert_eq!(terminal.is_coloured(), has_colour, "{variable}");
        terminal.types(b"\x03");
        terminal.end();
    }
}

/// The message of a panic is readable, on a restored terminal.
///
/// The panic is that of a program with the screen's own guard: this one, started again.
#[test]
fn panic_restores_the_terminal_first() {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["screen::terminal::panics_within", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    program.env("RUST_BACKTRACE", "0");
    let terminal = Terminal::start(program, 80, 24);
    let (status, text) = terminal.end();
    assert!(!status.success() && text.contains("a panic within the screen"), "{status}: {text}");
}

#[test]
#[ignore = "the program of the test above"]
fn panics_within() {
    let _tty = terminal::full_screen::Tty::take(true).unwrap();
    panic!("a panic within the screen");
}
