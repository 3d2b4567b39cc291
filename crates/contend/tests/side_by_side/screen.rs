//! `contend screen` on a terminal of its own.

use crate::command::archive::{Archive, has_git};
use crate::command::terminal::Terminal;
use experiments::ALL;
use rustix::process::Signal;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const WELCOME: &str = "what waiting costs, on this machine";
const KEYS: &str = "changes the command line";

fn screen(columns: u16, lines: u16) -> Terminal {
    let terminal = Terminal::screen(columns, lines, "");
    terminal.until(WELCOME);
    terminal
}

/// Types a command line and runs it.
fn runs(terminal: &mut Terminal, line: &str) {
    terminal.does("e", "change the command line");
    terminal.types(b"\x15");
    terminal.types(format!("{line}\r").as_bytes());
}

/// Each of these is shown, as soon as all is drawn.
fn has_all(terminal: &Terminal, words: impl Iterator<Item = String>) {
    words.for_each(|words| drop(terminal.until(&words)));
}

/// Whether there is a CPU beside the screen's.
fn has_two_cpus() -> bool {
    let cpus = instruments::cpus::allowed().unwrap().len();
    if cpus < 2 {
        println!("skipped: needs two CPUs");
    }
    cpus >= 2
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "never so: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn it_takes_the_terminal_and_gives_it_back() {
    for (columns, lines) in [(80, 24), (200, 50)] {
        let mut terminal = screen(columns, lines);
        assert!(terminal.is_taken());
        terminal.does("?", KEYS);
        terminal.types(b"xq");
        let (status, _) = terminal.end();
        assert!(status.success());
    }
}

#[test]
fn each_menu_has_the_lines_of_its_registry() {
    let mut terminal = screen(200, 50);
    terminal.does("m", "Every experiment briefly");
    has_all(&terminal, ALL.iter().map(|entry| entry.name.to_owned()));
    terminal.does("\x1b[C", "experiments by CPUs");
    terminal.does("\x1b[C", "parking_lot-fair");
    has_all(&terminal, locks::ENTRIES.iter().map(|entry| entry.name.to_owned()));
    terminal.does("\x1b[C", "Nobody else wants the lock");
    terminal.types(b"\x1b[C");
    let is_open = |text: &str| text.contains("would be in the figures") || text.contains("Measured");
    terminal.wait_for("the CPUs", is_open);
    let online = instruments::cpus::online().unwrap();
    has_all(&terminal, online.iter().take(40).map(|cpu| format!("CPU {cpu}")));
    terminal.does("\x1b[C", "until I stop it");
    terminal.does("\x1b[C", "nothing is kept");
    terminal.does("\x1b[C", "how noise measures");
    has_all(&terminal, ALL.iter().map(|entry| format!("how {} measures", entry.name)));
    terminal.types(b"q");
    terminal.end();
}

/// At 80 by 24 nothing is cut that a person needs: every title, every experiment by scrolling, its command line.
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
fn what_cannot_be_had_is_grey_and_says_why() {
    let mut terminal = screen(80, 24);
    terminal.does("m", "$ contend survey");
    let trace = ALL.iter().position(|entry| entry.name == "trace").unwrap();
    terminal.types("\x1b[B".repeat(trace + 1).as_bytes());
    terminal.until("not here: it needs a program to watch");
    terminal.does("\r", "it needs a program to watch");
    terminal.types(b"q");
    terminal.end();
}

#[test]
fn choices_become_a_command_line() {
    let mut terminal = screen(80, 24);
    terminal.does("m\x1b[C\x1b[C", "System V semaphore");
    terminal.types(b" \x1b[B ");
    terminal.does("\x1b[D\x1b[D\x1b[B\x1b[B", "--lock sysv,benaphore");
    terminal.does("e", "change the command line");
    terminal.types(b"\x1b");
    terminal.wait_for("the menu no more", |text| !text.contains("change the command line"));
    terminal.types(b"q");
    terminal.end();
}

#[test]
fn a_click_opens_a_menu_and_another_takes_its_line() {
    let mut terminal = screen(80, 24);
    // The last title but nothing: Help.
    let row = terminal.text().lines().next().unwrap().to_owned();
    let column = row.find("Help").unwrap() + 1;
    let menu = terminal.does(&format!("\x1b[<0;{column};1M\x1b[<0;{column};1m"), "how noise measures");
    let line = menu.lines().position(|line| line.contains("│ keys")).unwrap() + 1;
    terminal.does(&format!("\x1b[<0;{};{line}M", column), KEYS);
    terminal.types(b"xq");
    terminal.end();
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
    terminal.until("mean load in per cent");
    terminal.does("s", "stopped; what was measured so far was kept");
    let list = {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.args(["history", "list", "--archive"]).arg(&archive).output().unwrap()
    };
    let list = String::from_utf8(list.stdout).unwrap();
    // Who looked on is in no record.
    assert!(list.contains("load --seconds 10min --interval 100ms (inte"), "{list}");
    terminal.does("m\x1b[D\x1b[D\x1b[D", "compare those marked");
    terminal.does("\x1b[F\r", "As it was shown");
    terminal.does("\r", "$ contend history show");
    // The command may still be at work: then once is not enough.
    terminal.types(b"qq");
    terminal.end();
}

#[test]
fn a_killed_child_is_said_and_the_screen_lives() {
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
fn signals_give_the_terminal_back_and_leave_no_child() {
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

/// However it was stopped, the shell finds its terminal, and the screen finds its own again.
#[test]
fn a_stopped_screen_leaves_the_terminal_and_takes_it_again() {
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
fn nothing_of_the_screen_runs_where_it_measures() {
    if !has_two_cpus() {
        return;
    }
    let mut terminal = screen(80, 24);
    let own = allowed(terminal.id());
    runs(&mut terminal, "contend load --seconds 1min");
    wait_until("a child", || !terminal.processes().is_empty());
    assert_eq!(own.len(), 1);
    // The child may run everywhere; the command lines of the menus leave the screen's CPU out.
    wait_until("the child has all CPUs", || terminal.processes().iter().any(|id| allowed(*id).len() > 1));
    terminal.until("mean load in per cent");
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
    terminal.wait_for("its end", |text| text.contains("was kept") || text.contains("nothing runs"));
    terminal.types(b"q");
    terminal.end();
}

#[test]
fn an_archive_that_is_none_is_said_in_its_menu() {
    let folder = tempfile::tempdir().unwrap();
    let (foreign, missing) = (folder.path().join("foreign"), folder.path().join("missing"));
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("file"), "x").unwrap();
    for (archive, says) in [(&foreign, "cannot be opened"), (&missing, "the archive is empty")] {
        let mut terminal = Terminal::screen(80, 24, archive.to_str().unwrap());
        terminal.until(WELCOME);
        terminal.does("m\x1b[D\x1b[D", says);
        terminal.types(b"q");
        terminal.end();
    }
}

/// Somebody else is at work on the archive, alone: records are shown all the same, and what is measured waits to be
/// kept.
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
    // It waits for its turn; the screen does not.
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

/// It has the experiment's own words, and the next one can be started.
#[test]
fn what_this_machine_refuses_is_said_and_the_screen_lives() {
    let mut terminal = screen(80, 24);
    runs(&mut terminal, "contend noise --cpus 4095 --seconds 1");
    terminal.until("it failed, with status 2: ");
    let text = terminal.until("CPU 4095 does not exist");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    runs(&mut terminal, "contend model frames --frame 1ms --quantum 1ms");
    terminal.until("done");
    terminal.types(b"qq");
    terminal.end();
}

/// It is told what is waited for, although nobody asked for lines; and at the end that this program waits for nothing.
#[test]
fn a_watched_program_is_drawn_while_it_runs() {
    let mut terminal = screen(80, 24);
    runs(&mut terminal, "contend trace -- sh -c 'sleep 60'");
    terminal.until("all locks");
    terminal.does("s", "used none of the C library's locks");
    terminal.types(b"qq");
    terminal.end();
}

/// From a seed: keys, clicks, halves of sequences, and what no terminal sends.
#[test]
fn ten_thousand_random_keys_do_no_harm() {
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
        // Ctrl-Z has a test of its own: at the shell's terminal keys are signals.
        1 => vec![random.u8(..)].into_iter().filter(|byte| *byte != 0x1a).collect(),
        2 => format!("\x1b[<{};{};{}M", random.u8(..70), random.u8(..), random.u8(..60)).into_bytes(),
        3 => format!("\x1b]{}\x07", random.alphabetic()).into_bytes(),
        4 if random.u8(..40) == 0 => b"q".to_vec(),
        _ => COMMON[random.usize(..COMMON.len())].as_bytes().to_vec(),
    }
}

#[test]
fn without_a_terminal_it_says_so() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    let output = command.arg("screen").stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("needs a terminal, and stdin is none"), "{said}");
    assert!(output.stdout.is_empty());
}

/// A panic's message can be read, on a terminal that is as it was. The panic is that of a program with the screen's own
/// guard: this one, started anew.
#[test]
fn a_panic_gives_the_terminal_back_first() {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["screen::panics_within", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    program.env("RUST_BACKTRACE", "0");
    let terminal = Terminal::start(program, 80, 24);
    let (status, text) = terminal.end();
    assert!(!status.success() && text.contains("a panic within the screen"), "{text}");
}

#[test]
#[ignore = "the program of the test above"]
fn panics_within() {
    let _tty = screen::tty::Tty::take().unwrap();
    panic!("a panic within the screen");
}
