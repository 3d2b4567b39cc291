//! Commands started from the screen.

use crate::command::archive::{Archive, has_git};
use crate::command::screen::{KEYS, WELCOME, runs, screen};
use crate::command::terminal::Terminal;

/// Another process has exclusive use of the archive: records are shown anyway, and a new record waits to be archived.
#[test]
fn a_locked_archive_is_read_and_written_when_it_is_free() {
    if !has_git() {
        return;
    }
    let archive = Archive::new();
    let mark = std::fs::File::open(archive.path.join("contend-archive")).unwrap();
    rustix::fs::flock(&mark, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let mut terminal = Terminal::screen(80, 24, archive.path.to_str().unwrap());
    terminal.until(WELCOME);
    terminal.does("m\x1b[D\x1b[D", "model frames");
    runs(&mut terminal, "contend model frames --frame 1ms --quantum 1ms");
    // The command waits for the lock; the screen does not.
    terminal.does("?", KEYS);
    assert!(!terminal.processes().is_empty(), "the command was not waiting");
    drop(mark);
    terminal.types(b"x");
    terminal.until("done");
    terminal.types(b"qq");
    terminal.end();
    let list = archive.contend(&["history", "list", "--format", "csv"]).stdout;
    assert_eq!(String::from_utf8(list).unwrap().lines().count(), 3, "a heading, and both records");
}

/// The message is the experiment's own, and the next one can be started.
#[test]
fn refused_measurement_is_shown_and_the_screen_continues() {
    let mut terminal = screen(80, 24);
    runs(&mut terminal, "contend noise --cpus 4095 --seconds 1");
    terminal.until("failed with status 2: ");
    let text = terminal.until("CPU 4095 does not exist");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    runs(&mut terminal, "contend model frames --frame 1ms --quantum 1ms");
    terminal.until("done");
    terminal.types(b"qq");
    terminal.end();
}
