//! `contend load` through its binary.

#[path = "../examples/bursts/burst.rs"]
mod burst;
mod command;

use burst::{Alignment, Pattern, Tick};
use command::{contend, read, record, results};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const SHARES: [&str; 5] = ["load_share", "cputime_share", "grind_share", "lost_inside_share", "proc_stat_share"];

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

fn rows<'a>(record: &'a Value, measurement: &'a str) -> Vec<&'a Value> {
    results(record).iter().filter(|row| row["measurement"] == measurement).collect()
}

fn warnings(record: &Value) -> Vec<&str> {
    record["warnings"].as_array().unwrap().iter().filter_map(|warning| warning["code"].as_str()).collect()
}

fn first_cpu() -> String {
    instruments::cpus::allowed().unwrap().first().unwrap().to_string()
}

#[test]
fn every_interval_and_cpu_has_a_row_and_every_cpu_a_total() {
    let record = record(&["load", "--seconds", "1", "--interval", "250ms"]);
    let cpus = record["parameters"]["cpus"].as_array().unwrap().len();
    let intervals = rows(&record, "interval");
    // A machine that is late may take more than a quarter of a second for one.
    assert!(intervals.len().is_multiple_of(cpus) && (1..=5).contains(&(intervals.len() / cpus)), "{intervals:?}");
    assert_eq!(rows(&record, "total").len(), cpus);
    for row in intervals.iter().chain(&rows(&record, "total")) {
        SHARES.iter().for_each(|share| assert!(number(row, share).is_finite(), "{share} in {row}"));
        assert!((number(row, "load_share") + number(row, "cputime_share") - 1.0).abs() < 1e-9, "{row}");
        let lost = number(row, "cputime_share") - number(row, "grind_share");
        assert!((number(row, "lost_inside_share") - lost).abs() < 1e-9, "{row}");
        assert!(number(row, "time_s") > 0.0);
    }
    let times: Vec<f64> = intervals.iter().step_by(cpus).map(|row| number(row, "time_s")).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
}

/// Three quarters of a CPU are wanted by bursts, which get nearly all of it beside a soaker: whether a tick falls into
/// them or not, much of the CPU is load, and where the kernel keeps an exact account, both agree. (How closely, and
/// what `/proc/stat` makes of it, the example `bursts` shows; a busy machine would disturb that here.)
#[test]
fn bursts_are_seen_however_they_lie_to_the_tick() {
    for alignment in [Alignment::Avoids, Alignment::Hits, Alignment::Unaligned] {
        let pattern = Pattern { burst_ns: 3_000_000, period_ns: 4_000_000, alignment };
        let record = beside(&pattern, &["load", "--cpus", &first_cpu(), "--seconds", "1"]);
        let total = rows(&record, "total")[0];
        assert!(number(total, "load_share") > 0.3, "{total}");
        match total["exec_share"].as_f64() {
            Some(exec) => assert!((number(total, "load_share") - exec).abs() < 0.1, "{total}"),
            None => println!("skipped: needs cpuacct.usage_percpu or /proc/schedstat"),
        }
    }
}

/// The record of a command beside which bursts ran on the first CPU.
fn beside(pattern: &Pattern, arguments: &[&str]) -> Value {
    /// Ends the bursts also when the command fails.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (stop, used_ns) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            instruments::cpus::pin_current_thread(first_cpu().parse().unwrap()).unwrap();
            pattern.run(Tick::find(), &stop, &used_ns);
        });
        let _stop = Stop(&stop);
        std::thread::sleep(Duration::from_millis(300));
        record(arguments)
    })
}

#[test]
fn several_grinders_are_compared_with_one() {
    let record = record(&["load", "--grinders", "2", "--cpus", &first_cpu(), "--seconds", "1"]);
    let efficiency = number(rows(&record, "total")[0], "efficiency_share");
    assert!((0.5..2.0).contains(&efficiency), "{efficiency}");
    let text = || contend(&["load", "--grinders", "2", "--cpus", &first_cpu(), "--seconds", "1", "--quiet"]);
    // Where others want the CPU they may not get enough of it to be compared.
    assert!((0..5).any(|_| String::from_utf8(text().stdout).unwrap().contains("1998: 99.92 %")));
}

#[test]
fn a_pipe_gets_plain_lines_of_eighty_columns() {
    for view in [&["load", "--view", "lines"][..], &["load"]] {
        let output = contend(&[view, &["--interval", "200ms", "--seconds", "0.6", "--quiet"]].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && !text.contains('\x1b'), "{text}");
        assert!(text.starts_with("    time   load") && text.contains("1998: 97 %"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80 && line == line.trim_end()), "{text}");
    }
}

#[test]
fn json_lines_are_an_object_each_and_nothing_else() {
    let output = contend(&["load", "--view", "json", "--interval", "200ms", "--seconds", "0.6", "--quiet"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["measurement"] == "interval"));
    assert!(lines.iter().any(|line| line["measurement"] == "total"));
    for line in lines.iter().filter(|line| line["measurement"] == "interval") {
        SHARES.iter().chain(&["time_s", "cpu"]).for_each(|field| assert!(line.get(field).is_some(), "{field}"));
    }
}

#[test]
fn csv_has_a_row_for_each_result() {
    let output = contend(&["load", "--format", "csv", "--seconds", "0.5", "--quiet"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("measurement,time_s,cpu,load_share,"), "{text}");
    assert!(text.lines().count() > 2, "{text}");
}

#[test]
fn wrong_flags_exit_with_2_and_name_what_is_allowed() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--interval", "0"], &["--interval", "at least 100ms"]),
        (&["--interval", "1ms"], &["--interval", "at least 100ms"]),
        (&["--interval", "-1s"], &["--interval", "negative"]),
        (&["--interval", "10min"], &["--interval", "at most 1min"]),
        (&["--priority", "20"], &["--priority", "20", "-20 to 19"]),
        (&["--priority", "-21"], &["--priority", "-21", "-20 to 19"]),
        (&["--priority", "fifo:100"], &["--priority", "1 to 99"]),
        (&["--priority", "fifo", "--grinders", "2"], &["--grinders 2", "--priority fifo", "must sleep"]),
        (&["--grinders", "0"], &["--grinders", "from 1 to 64"]),
        (&["--view", "json", "--format", "json"], &["--view json", "--output FILE"]),
        (&["--view", "tea"], &["--view", "graph"]),
        (&["--cpus", "4095"], &["--cpus", "4095"]),
    ];
    for (arguments, words) in cases {
        let output = contend(&[&["load"], *arguments].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty());
        words.iter().for_each(|word| assert!(stderr.contains(word), "{arguments:?} should say {word:?}:\n{stderr}"));
    }
}

/// Without privilege the load is measured all the same, and the record says what it lacks.
#[test]
fn a_refused_priority_is_a_warning_and_the_load_is_measured() {
    const NOBODY: u32 = 65_534;
    for (priority, code) in [("-5", "priority_refused"), ("fifo", "no_realtime_priority")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.env("CONTEND_ARCHIVE", "");
        command.args(["load", "--priority", priority, "--seconds", "0.5", "--format", "json"]).uid(NOBODY);
        let Ok(output) = command.output() else {
            return println!("skipped: needs root, to become a user without privileges");
        };
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(2) {
            return println!("skipped: needs two CPUs");
        }
        let record = read(&output.stdout);
        assert!(warnings(&record).contains(&code), "{stderr}");
        assert!(rows(&record, "total").iter().all(|total| total["priority"] == "idle"));
        let said = record["warnings"].to_string();
        assert!(said.contains("CAP_SYS_NICE") || said.contains("cap_sys_nice"), "{said}");
    }
}

#[test]
fn a_realtime_soaker_sleeps_and_leaves_one_cpu_to_others() {
    let output = contend(&["load", "--priority", "fifo", "--seconds", "1", "--format", "json"]);
    if output.status.code() == Some(2) {
        return println!("skipped: needs two CPUs");
    }
    let record = read(&output.stdout);
    if warnings(&record).contains(&"no_realtime_priority") {
        return println!("skipped: needs CAP_SYS_NICE");
    }
    let online = instruments::cpus::online().unwrap();
    let watched = record["parameters"]["cpus"].as_array().unwrap().len();
    assert!(watched < online.len(), "it took all CPUs");
    assert!(rows(&record, "total").iter().all(|total| total["priority"] == "fifo:1"));
}

#[test]
fn metrics_are_whole_and_well_formed_at_every_moment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.prom");
    let arguments = ["load", "--interval", "100ms", "--seconds", "1", "--quiet", "--metrics", file.to_str().unwrap()];
    let mut child = start(&arguments);
    let mut readings = 0;
    while child.try_wait().unwrap().is_none() {
        if let Ok(text) = std::fs::read_to_string(&file) {
            check_exposition(&text);
            readings += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success() && readings > 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a draft is left");
}

/// Families declared before their samples, a unit at the end of each name, and the end marked.
fn check_exposition(text: &str) {
    assert!(text.ends_with("# EOF\n"), "{text}");
    let mut family = ("", "");
    for line in text.lines().filter(|line| *line != "# EOF") {
        match line.strip_prefix("# ").map(|meta| meta.split(' ').collect::<Vec<_>>()).as_deref() {
            Some(["TYPE", name, kind]) => family = (*name, *kind),
            Some(["UNIT", name, unit]) => assert!(*name == family.0 && name.ends_with(&format!("_{unit}")), "{line}"),
            Some(["HELP", name, ..]) => assert_eq!(*name, family.0),
            Some(_) => panic!("{line}"),
            None => {
                let suffix = if family.1 == "counter" { "_total" } else { "" };
                let sample = line.strip_prefix(family.0).and_then(|rest| rest.strip_prefix(suffix));
                let value =
                    sample.and_then(|rest| rest.strip_prefix("{cpu=\"")).and_then(|rest| rest.split_once("\"} "));
                let (cpu, value) = value.unwrap_or_else(|| panic!("{line} is no sample of {family:?}"));
                assert!(cpu.parse::<usize>().is_ok() && value.parse::<f64>().unwrap().is_finite(), "{line}");
            }
        }
    }
}

#[test]
fn metrics_that_cannot_be_written_are_told_before_measuring() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/such/folder/load.prom");
    for place in [missing.to_str().unwrap(), folder.path().to_str().unwrap(), "/dev/full"] {
        let output = contend(&["load", "--seconds", "600", "--metrics", place]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(output.stdout.is_empty() && stderr.contains("--metrics") && stderr.contains(place), "{stderr}");
    }
    assert!(!Path::new("/dev/full").metadata().unwrap().is_file(), "the device was replaced");
}

/// The disk fills up in a mount namespace of its own, which ends with the command.
#[test]
fn a_full_disk_costs_the_metrics_and_nothing_else() {
    let script = format!(
        "mount -t tmpfs -o size=16k none \"$0\" && head -c 12k /dev/zero > \"$0/other\" && \
         CONTEND_ARCHIVE= {} load --interval 100ms --seconds 0.5 --metrics \"$0/load.prom\" --format json",
        env!("CARGO_BIN_EXE_contend")
    );
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let filled = |script: &str| Command::new("unshare").args(["--mount", "bash", "-c", script, place]).output();
    match filled("mount -t tmpfs -o size=16k none \"$0\"") {
        Ok(output) if output.status.success() => {}
        _ => return println!("skipped: needs root and unshare"),
    }
    // The first draft, which is empty, finds room; what is written into it fills the last page.
    let full = script.replace("12k", "16k");
    let output = filled(&full).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let record = read(&output.stdout);
    assert!(!rows(&record, "total").is_empty());
    // On a busy machine more serious ones have the terminal's three lines.
    let told = record["warnings"].to_string();
    assert!(warnings(&record).contains(&"left_out") && told.contains("could not be replaced"), "{told}");
}

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_contend"))
        .env("CONTEND_ARCHIVE", "")
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts")
}

/// A run that has printed a line, so that it measures.
fn measuring(arguments: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = start(arguments);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        lines.read_line(&mut String::new()).unwrap();
    }
    (child, lines)
}

fn signal(child: &Child, signal: Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).expect("the child still runs");
}

#[test]
fn an_endless_run_ends_when_asked_with_its_totals() {
    command::heard::interrupts();
    let (mut child, mut lines) = measuring(&["load", "--interval", "100ms"]);
    signal(&child, Signal::INT);
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(rest.contains("intervals; soaker's priority: idle"), "{rest}");
}

#[test]
fn a_reader_that_goes_away_ends_an_endless_run() {
    let (mut child, lines) = measuring(&["load", "--interval", "100ms"]);
    drop(lines);
    for _ in 0..600 {
        if child.try_wait().unwrap().is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    panic!("it still measures for nobody");
}

/// Whatever ends it, no soaker is left.
#[test]
fn a_killed_meter_leaves_no_process() {
    let (mut child, _lines) = measuring(&["load", "--interval", "100ms"]);
    let children = children_of(child.id());
    assert!(!children.is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let lives = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
    };
    for _ in 0..600 {
        if !children.iter().any(|&pid| lives(pid)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{children:?} are left");
}

fn children_of(parent: u32) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        fields.split_whitespace().nth(1).and_then(|field| field.parse().ok()) == Some(parent)
    })
    .collect()
}

/// The live view at a pseudo terminal, ended by a signal and by a key: the terminal is given back.
#[test]
fn the_terminal_is_restored() {
    for (ending, status) in [(None, 130), (Some(b"q"), 0)] {
        let Some(mut terminal) = Terminal::with(&["load", "--interval", "100ms"]) else {
            return println!("skipped: needs pseudo terminals");
        };
        terminal.read_until("\x1b[?1049h");
        terminal.read_until("/proc/stat");
        match ending {
            None => signal(&terminal.child, Signal::TERM),
            Some(key) => drop(rustix::io::write(&terminal.controller, key).unwrap()),
        }
        terminal.read_until("\x1b[?1049l");
        terminal.read_until("soaker's priority: idle");
        assert_eq!(terminal.child.wait().unwrap().code(), Some(status));
    }
}

/// The command at a pseudo terminal.
struct Terminal {
    child: Child,
    controller: std::os::fd::OwnedFd,
    seen: String,
}

impl Terminal {
    fn with(arguments: &[&str]) -> Option<Self> {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).ok()?;
        grantpt(&controller).and_then(|()| unlockpt(&controller)).ok()?;
        let name = ptsname(&controller, Vec::new()).ok()?;
        let side = std::fs::OpenOptions::new().read(true).write(true).open(name.to_str().ok()?).ok()?;
        let size = rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&controller, size).ok()?;
        let handle = || Some(Stdio::from(side.try_clone().ok()?));
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.env("CONTEND_ARCHIVE", "");
        command.args(arguments).env_remove("NO_COLOR").env("TERM", "xterm");
        let child = command.stdin(handle()?).stdout(handle()?).stderr(Stdio::null()).spawn().ok()?;
        Some(Self { child, controller, seen: String::new() })
    }

    /// Reads on until `what` has come, for half a minute at most.
    fn read_until(&mut self, what: &str) {
        let patience = std::time::Instant::now();
        while !self.seen.contains(what) {
            assert!(patience.elapsed() < Duration::from_secs(30), "{what:?} never came:\n{:?}", self.seen);
            let mut ready = [rustix::event::PollFd::new(&self.controller, rustix::event::PollFlags::IN)];
            let soon = rustix::time::Timespec { tv_sec: 1, tv_nsec: 0 };
            if rustix::event::poll(&mut ready, Some(&soon)).unwrap() == 0 {
                continue;
            }
            let mut piece = [0; 4096];
            match rustix::io::read(&self.controller, &mut piece) {
                Ok(length) => self.seen.push_str(&String::from_utf8_lossy(&piece[..length])),
                Err(error) => panic!("the terminal closed ({error}) before {what:?} came:\n{:?}", self.seen),
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed must not leave it running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
