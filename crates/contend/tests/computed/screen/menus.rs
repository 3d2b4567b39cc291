//! The menus: their lines, and the command line that results from a choice.

use crate::command::screen::{KEYS, WELCOME, screen};
use crate::command::terminal::Terminal;
use experiments::ALL;

/// Asserts that each of these is shown, as soon as everything is drawn.
fn has_all(terminal: &Terminal, words: impl Iterator<Item = String>) {
    words.for_each(|words| drop(terminal.until(&words)));
}

#[test]
fn each_menu_has_the_lines_of_its_registry() {
    let mut terminal = screen(200, 50);
    terminal.does("m", "Run every experiment briefly");
    has_all(&terminal, ALL.iter().map(|entry| entry.name.to_owned()));
    terminal.does("\x1b[C", "experiments by CPUs");
    terminal.does("\x1b[C", "records are not saved");
    terminal.does("\x1b[C", "method: noise");
    has_all(&terminal, ALL.iter().map(|entry| format!("method: {}", entry.name)));
    terminal.types(b"q");
    terminal.end();
}

/// At 80 by 24 nothing is cut that a user needs: every title, every experiment by scrolling, its command line.
#[test]
fn every_experiment_is_found_on_eighty_columns() {
    let mut terminal = screen(80, 24);
    terminal.does("m", "$ contend survey");
    for entry in ALL {
        terminal.does("\x1b[B", &format!("$ contend {}", entry.name));
    }
    terminal.types(b"q");
    terminal.end();
}

#[test]
fn unavailable_item_is_grey_with_the_reason() {
    let mut terminal = screen(80, 24);
    terminal.does("m\x1b[C\x1b[C", "(no records)");
    terminal.until("not here: ");
    terminal.does("\r", "CONTEND_ARCHIVE is empty");
    terminal.types(b"q");
    terminal.end();
}

#[test]
fn refused_line_stays_to_be_corrected() {
    let mut terminal = screen(80, 24);
    terminal.does("e", "edit the command line");
    terminal.does("\x15server --port 80\r", "server: the command line must begin with `contend`");
    terminal.until("$ server --port 80");
    // The next key replaces the reason by the hint.
    terminal.does("\x01contend doctor --format json \x1b[F", "edit the command line");
    terminal.until("$ contend doctor --format json server --port 80");
    terminal.does("\x1b", "? keys");
    terminal.types(b"q");
    terminal.end();
}

#[test]
fn a_click_opens_a_menu_and_another_takes_its_line() {
    let mut terminal = screen(80, 24);
    // The last title but nothing: Help.
    let row = terminal.text().lines().next().unwrap().to_owned();
    let column = row.find("Help").unwrap() + 1;
    let menu = terminal.does(&format!("\x1b[<0;{column};1M\x1b[<0;{column};1m"), "method: noise");
    let line = menu.lines().position(|line| line.contains("│ keys")).unwrap() + 1;
    terminal.does(&format!("\x1b[<0;{};{line}M", column), KEYS);
    terminal.types(b"xq");
    terminal.end();
}

#[test]
fn invalid_archive_is_reported_in_its_menu() {
    let folder = tempfile::tempdir().unwrap();
    let (foreign, missing) = (folder.path().join("foreign"), folder.path().join("missing"));
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("file"), "x").unwrap();
    for (archive, message) in [(&foreign, "cannot open the archive"), (&missing, "the archive is empty")] {
        let mut terminal = Terminal::screen(80, 24, archive.to_str().unwrap());
        terminal.until(WELCOME);
        terminal.does("m\x1b[D\x1b[D", message);
        terminal.types(b"q");
        terminal.end();
    }
}
