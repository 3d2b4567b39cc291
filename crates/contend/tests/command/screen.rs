//! `contend screen` on its own terminal, driven by keys.

use super::terminal::{PATIENCE, Terminal};
use std::time::{Duration, Instant};

pub const WELCOME: &str = "measure what waiting costs on this machine";
pub const KEYS: &str = "edit the command line before";

pub fn screen(columns: u16, lines: u16) -> Terminal {
    let terminal = Terminal::screen(columns, lines, "");
    terminal.until(WELCOME);
    terminal
}

/// Types a command line and runs it.
pub fn runs(terminal: &mut Terminal, line: &str) {
    terminal.does("e", "edit the command line");
    terminal.types(b"\x15");
    terminal.types(format!("{line}\r").as_bytes());
}

pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "never so: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
