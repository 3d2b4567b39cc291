//! `contend screen` with measurements: drawn while they run, stopped, killed; and random keys, which start some.

use crate::command::archive::{Archive, has_git};
use crate::command::screen::{KEYS, WELCOME, runs, screen, wait_until};
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

/// The screen shows the diagnosis, although no lines were requested; this program waits for no lock.
#[test]
fn a_watched_program_is_drawn_while_it_runs() {
    let mut terminal = screen(80, 24);
    runs(&mut terminal, "contend trace -- sh -c 'sleep 60'");
    terminal.until("No wait for a lock so far.");
    terminal.does("s", "Not the locks");
    terminal.types(b"qq");
    terminal.end();
}

/// A second q saves the record before the interface ends.
#[test]
fn program_of_the_form_is_drawn_and_its_record_kept() {
    if !has_git() {
        return;
    }
    let archive = Archive::new();
    let mut terminal = Terminal::screen(80, 24, archive.path.to_str().unwrap());
    terminal.until(WELCOME);
    terminal.does("\r", "[ Run ]");
    terminal.does("\x1b[Bsh -c 'sleep 60'", "$ contend trace -- sh -c");
    terminal.does("\x1b[6~\r", "No wait for a lock so far.");
    terminal.does("q", "press q again");
    terminal.types(b"q");
    terminal.end();
    let list = String::from_utf8(archive.contend(&["history", "list"]).stdout).unwrap();
    assert!(list.contains("sleep 60"), "{list}");
}

/// The traced shell is killed with contend; its own child is not its parent's any more.
#[test]
fn killed_command_leaves_no_process() {
    let mut terminal = screen(80, 24);
    runs(&mut terminal, "contend trace -- sh -c 'trap \"\" TERM INT; sleep 60; true'");
    terminal.until("No wait for a lock so far.");
    wait_until("the shell's child", || terminal.processes().len() >= 3);
    terminal.does("s", "stopping and saving");
    terminal.types(b"ss");
    terminal.until("killed by signal 9");
    wait_until("no process is left", || terminal.processes().is_empty());
    terminal.types(b"q");
    terminal.end();
}

#[test]
fn signals_restore_the_terminal_and_leave_no_child() {
    crate::command::heard::interrupts();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let mut terminal = screen(80, 24);
        runs(&mut terminal, "contend clock --seconds 1min");
        wait_until("a child", || !terminal.processes().is_empty());
        terminal.signal(signal);
        let (status, _) = terminal.end();
        assert_eq!(status.code(), Some(130), "{signal:?}");
    }
}

/// The input comes from a seed: keys, clicks, partial sequences, and bytes that no terminal sends.
#[test]
fn ten_thousand_random_keys_are_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("archive.git");
    let mut random = fastrand::Rng::with_seed(1_998);
    let mut left: usize = 10_000;
    while left > 0 {
        let mut terminal = Terminal::screen(80, 24, archive.to_str().unwrap());
        terminal.until(WELCOME);
        while left > 0 && !terminal.has_ended() {
            let keys: Vec<u8> = (0..50).flat_map(|_| key(&mut random)).collect();
            terminal.types(&keys);
            left = left.saturating_sub(50);
            if random.u8(..20) == 0 {
                terminal.resize(random.u16(..220), random.u16(..60));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if !terminal.has_ended() {
            terminal.signal(Signal::TERM);
        }
        let (status, text) = terminal.end();
        assert!(status.code().is_some() && !text.contains("panicked"), "{status:?}\n{text}");
    }
}

fn key(random: &mut fastrand::Rng) -> Vec<u8> {
    const COMMON: [&str; 22] = [
        "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[5~", "\x1b[6~", "\x1b[H", "\x1b[F", "\x1b[Z", "\x1b", "\x1b[",
        "\x1bO", "\t", " ", "m", "v", "e", "?", "s", "l", "t", "\x7f",
    ];
    match random.u8(..40) {
        0 => b"\r".to_vec(),
        // Ctrl-Z has a separate test: at the shell's terminal keys are signals.
        1 => vec![random.u8(..)].into_iter().filter(|byte| *byte != 0x1a).collect(),
        2 => format!("\x1b[<{};{};{}M", random.u8(..70), random.u8(..), random.u8(..60)).into_bytes(),
        3 => format!("\x1b]{}\x07", random.alphabetic()).into_bytes(),
        4 if random.u8(..40) == 0 => b"q".to_vec(),
        _ => COMMON[random.usize(..COMMON.len())].as_bytes().to_vec(),
    }
}
