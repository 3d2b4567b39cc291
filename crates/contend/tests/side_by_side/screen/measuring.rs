//! Measurements started from the screen: drawn while they run, stopped, killed, refused.

use super::{KEYS, WELCOME, runs, screen, wait_until};
use crate::command::archive::{Archive, has_git};
use crate::command::terminal::Terminal;
use rustix::process::Signal;
use std::process::Command;
use std::time::Duration;

/// Returns whether there is a CPU besides the screen's.
fn has_two_cpus() -> bool {
    let cpus = instruments::cpus::allowed().unwrap().len();
    if cpus < 2 {
        println!("skipped: needs two CPUs");
    }
    cpus >= 2
}

#[test]
fn a_measurement_is_drawn_while_the_terminal_changes_its_size() {
    let mut terminal = screen(80, 24);
    runs(&mut terminal, "contend noise --scenario quiet --seconds 8");
    terminal.until("measuring ");
    terminal.until("0 %, now");
    for (columns, lines) in [(200, 50), (81, 25), (40, 10), (0, 0), (1, 1), (120, 40), (80, 24)] {
        terminal.resize(columns, lines);
        std::thread::sleep(Duration::from_millis(100));
    }
    terminal.resize(60, 12);
    terminal.until("needs 80 columns");
    terminal.resize(80, 24);
    terminal.until("done");
    terminal.types(b"q");
    terminal.end();
}

#[test]
fn stopping_keeps_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("archive.git");
    let mut terminal = Terminal::screen(80, 24, archive.to_str().unwrap());
    terminal.until(WELCOME);
    runs(&mut terminal, "contend load --seconds 10min --interval 100ms");
    terminal.until("mean load (%)");
    terminal.does("s", "stopped; the results so far were saved");
    let list = {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.args(["history", "list", "--archive"]).arg(&archive).output().unwrap()
    };
    let list = String::from_utf8(list.stdout).unwrap();
    // The screen itself is in no record.
    assert!(list.contains("load --seconds 10min --interval 100ms (inte"), "{list}");
    terminal.does("m\x1b[D\x1b[D\x1b[D", "compare marked");
    terminal.does("\x1b[F\r", "Show the record as it was printed");
    terminal.does("\r", "$ contend history show");
    // The command may still be at work: then once is not enough.
    terminal.types(b"qq");
    terminal.end();
}

#[test]
fn killed_child_is_reported_and_the_screen_continues() {
    let mut terminal = screen(80, 24);
    runs(&mut terminal, "contend clock --seconds 1min");
    terminal.until("measuring ");
    wait_until("a child", || !terminal.processes().is_empty());
    for id in terminal.processes() {
        let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(id as i32).unwrap(), Signal::KILL);
    }
    terminal.until("killed by signal 9");
    terminal.does("?", KEYS);
    terminal.types(b"xq");
    terminal.end();
}

#[test]
fn screen_does_not_run_on_measured_cpus() {
    if !has_two_cpus() {
        return;
    }
    let mut terminal = screen(80, 24);
    let own = allowed(terminal.id());
    runs(&mut terminal, "contend load --seconds 1min");
    wait_until("a child", || !terminal.processes().is_empty());
    assert_eq!(own.len(), 1);
    // The child may run everywhere; the command lines of the menus exclude the screen's CPU.
    wait_until("the child has all CPUs", || terminal.processes().iter().any(|id| allowed(*id).len() > 1));
    terminal.until("mean load (%)");
    terminal.does("s", "stopped");
    let menu = terminal.does("m\x1b[B\x1b[B", "$ contend latency");
    let cpus = menu.split("--cpus ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let cpus: instruments::cpus::CpuSet = cpus.parse().unwrap();
    assert!(own.intersection(&cpus).is_empty(), "{own} and {cpus}");
    terminal.types(b"q");
    terminal.end();
}

fn allowed(id: u32) -> instruments::cpus::CpuSet {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map_or_else(|| "0".parse().unwrap(), |list| list.trim().parse().unwrap())
}

#[test]
fn a_matrix_fills_while_it_is_measured() {
    let mut terminal = screen(80, 24);
    terminal.does("m\x1b[C\r", "1 thread");
    terminal.does("\x1b[B\x1b[B\x1b[B ", "✓");
    terminal.does("\x1b[B ", "$ contend latency --lock usema,usema-spin --threads 1");
    terminal.types(b"\r");
    terminal.wait_for("a figure in both cells", |text| {
        let line = |name: &str| {
            text.lines().any(|line| line.starts_with(name) && (line.contains(" ns") || line.contains(" µs")))
        };
        line("usema ") && line("usema-spin")
    });
    terminal.types(b"s");
    terminal.wait_for("its end", |text| text.contains("were saved") || text.contains("no command is running"));
    terminal.types(b"q");
    terminal.end();
}

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

/// The screen shows the diagnosis, although no lines were requested; this program waits for no lock.
#[test]
fn a_watched_program_is_drawn_while_it_runs() {
    let mut terminal = screen(80, 24);
    runs(&mut terminal, "contend trace -- sh -c 'sleep 60'");
    terminal.until("No wait for a lock so far.");
    terminal.does("s", "used none of the C library's locks");
    terminal.types(b"qq");
    terminal.end();
}
