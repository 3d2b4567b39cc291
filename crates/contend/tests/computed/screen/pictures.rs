//! Pictures of the screen in the documentation, drawn from the cells of the terminal.

use crate::command::archive::{Archive, has_git};
use crate::command::screen::WELCOME;
use crate::command::stored::all;
use crate::command::terminal::Terminal;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

/// A picture: its name, the size of the terminal, the keys that lead to it, and a text that it shows.
const PICTURES: [(&str, (u16, u16), &str, &str); 5] = [
    ("empty", (80, 24), "", "My program is slow"),
    ("menu", (80, 24), "m\x1b[B\x1b[B", "Enter: form"),
    ("form", (80, 24), "\x1b[B\r\x1b[C\x1b[B1,many", "invalid digit"),
    ("list", (80, 24), "\x1b[B\r\r", "filter: _"),
    ("wide", (200, 50), "\x1b[B\r\x1b[B\x1b[B250ns", "--hold 250ns"),
];

/// Returns the names of options in a text.
fn options(text: &str) -> BTreeSet<&str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '-')
        .filter(|word| word.starts_with("--"))
        .collect()
}

/// `CONTEND_RENEW=1` draws the pictures of docs/screen.md again.
#[test]
fn pictures_of_the_screen_show_the_present_forms() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let mut trace = all().into_iter().find(|old| old.experiment() == "trace").unwrap().record;
    trace["parameters"]["verdict_reason"] =
        json!("Waiting for locks took 62 % of the threads' time, most of it for cache_lock.");
    for record in all().into_iter().filter(|old| old.experiment() == "latency").map(|old| old.record).chain([trace]) {
        archive.insert(&record);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    for (name, (columns, lines), keys, shown) in PICTURES {
        let mut terminal = Terminal::screen(columns, lines, archive.path.to_str().unwrap());
        terminal.until(WELCOME);
        let text = terminal.does(keys, shown);
        let path = folder.join(format!("screen-{name}.svg"));
        if std::env::var_os("CONTEND_RENEW").is_some() {
            std::fs::write(&path, terminal.svg()).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap();
        let missing: Vec<&str> =
            options(&text).into_iter().filter(|option| !options(&stored).contains(option)).collect();
        let is_sized = stored.contains(&format!("data-cells=\"{columns}x{lines}\""));
        assert!(is_sized && missing.is_empty(), "{name} lacks {missing:?}: draw it again with CONTEND_RENEW=1");
        // The first one closes a list that is open.
        terminal.types(b"\x03\x03");
        terminal.end();
    }
}
