//! `contend screen` on its own terminal.

mod forms;
mod measuring;
mod menus;
mod pictures;
mod terminal;

use crate::command::terminal::Terminal;
use std::time::{Duration, Instant};

const WELCOME: &str = "measure what waiting costs on this machine";
const KEYS: &str = "edit the command line before";

fn screen(columns: u16, lines: u16) -> Terminal {
    let terminal = Terminal::screen(columns, lines, "");
    terminal.until(WELCOME);
    terminal
}

/// Types a command line and runs it.
fn runs(terminal: &mut Terminal, line: &str) {
    terminal.does("e", "edit the command line");
    terminal.types(b"\x15");
    terminal.types(format!("{line}\r").as_bytes());
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "never so: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
