//! `contend trace --pid`: a process that runs already, whose waits are known; processes that cannot be watched.

use crate::limits::run_within_limits;
use crate::patience::Patience;
use crate::programs::Programs;
use crate::times::off;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A program that waits for a line, and then becomes one with known waits: so the watching begins before it does.
#[test]
fn attached_waits_equal_the_account_of_the_process() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("known", &[]) else { return };
    // Others may take the CPU between the program's reading of the clock and ours; not in each of several runs.
    let mut runs = (0..5).map_while(|_| attached_times_off(&programs, &program));
    let Some(first) = runs.next() else { return println!("skipped: needs root and a tracefs") };
    assert!(first.is_empty() || runs.any(|off| off.is_empty()), "five times, at first: {first:?}");
}

/// Returns the times that are off; `None` where no process can be watched.
fn attached_times_off(programs: &Programs, program: &Path) -> Option<Vec<String>> {
    let script = format!("read line; exec {} 200", program.display());
    let mut watched = Command::new("sh");
    watched.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut watched = watched.spawn().unwrap();
    let file = programs.path("attached.json");
    let flags = ["--full", "--interval", "100ms", "--format", "json", "--output", file.to_str().unwrap()];
    let mut contend = attach(&watched.id().to_string(), &flags).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(contend.stderr.take().unwrap()).lines();
    let first = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("waited") || line.contains("error")));
    let first = first.map(Result::unwrap).unwrap_or_default();
    watched.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let output = watched.wait_with_output().unwrap();
    let rest = std::thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<String>>());
    let status = contend.wait_with_output_in(Duration::from_secs(120)).status;
    let rest = rest.join().unwrap();
    if first.contains("needs root") {
        return None;
    }
    let mut times_off = Vec::new();
    assert!(status.success(), "{first}\n{rest:?}");
    let record = crate::command::read(&std::fs::read(&file).unwrap());
    let rows = record["results"].as_array().unwrap();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let [name, _, _, waited, slept] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let waited: f64 = waited.parse().unwrap();
        let found = rows.iter().find(|row| row["kind"] == "lock" && row["lock"] == name);
        // Threads that happen to alternate wait for little.
        if waited < 20e6 {
            continue;
        }
        let lock = found.unwrap_or_else(|| panic!("no {name} in {:#}", record["results"]));
        times_off.extend(off(name, lock["wait_total_s"].as_f64().unwrap() * 1e9, waited));
        assert_eq!(lock["type"], "mutex", "{lock}");
        assert!(lock["blocked_by"][0]["site"].as_str().unwrap().starts_with("user (known.c:"), "{lock}");
        if name == "stopped_lock" {
            times_off.extend(off("stopped", lock["holder_off_cpu_share"].as_f64().unwrap(), slept.parse().unwrap()));
            assert!(lock["wake_p50_ns"].as_f64().unwrap() > 0.0);
        }
    }
    Some(times_off)
}

fn attach(pid: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env("CONTEND_ARCHIVE", "").args(["trace", "--pid", pid]).args(flags).stdin(Stdio::null());
    command
}

#[test]
fn a_process_that_cannot_be_watched_is_named_with_the_reason() {
    let mut ended = Command::new("true").spawn().unwrap();
    let zombie = ended.id().to_string();
    // It has ended once its state says so.
    let until = Instant::now() + Duration::from_secs(60);
    let state = || std::fs::read_to_string(format!("/proc/{zombie}/stat")).unwrap_or_default();
    while !state().contains(") Z ") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    for (pid, words) in [
        ("4194303", "no such process"),
        ("0", "0 is not in 1.."),
        ("x", "not a whole number"),
        (&zombie, "the process has ended"),
    ] {
        let output = attach(pid, &[]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{pid}: {stderr}");
        assert!(stderr.contains(words), "{pid}: {stderr}");
    }
    ended.wait().unwrap();
    let both = attach("1", &["--", "true"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
}

/// Starts a process that does not wait for a line; returns `None`, and says so, where no process can be watched.
fn watched(program: &Path, arguments: &[&str]) -> Option<Child> {
    // Before the program begins, which may not run for long.
    static NEEDS_ROOT: OnceLock<bool> = OnceLock::new();
    let needs_root = NEEDS_ROOT.get_or_init(|| {
        let output = attach(&std::process::id().to_string(), &["--seconds", "0.1"]).output().unwrap();
        String::from_utf8_lossy(&output.stderr).contains("needs root")
    });
    if *needs_root {
        println!("skipped: needs root and a tracefs");
        return None;
    }
    Some(Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().unwrap())
}

/// Returns the record of a process.
fn attached_within_limits(programs: &Programs, pid: u32) -> Value {
    let file = programs.path("limits.json");
    let _ = std::fs::remove_file(&file);
    let flags = ["--seconds", "1", "--format", "json", "--output", file.to_str().unwrap()];
    let watching = attach(&pid.to_string(), &flags);
    let output = run_within_limits(&watching);
    assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    crate::command::read(&std::fs::read(&file).unwrap())
}

/// The path of a process's file now leads to another program, to a FIFO, to garbage, or to nothing.
#[test]
fn replaced_program_is_named_from_its_mapped_file() {
    for becomes in ["kept", "fifo", "sparse", "garbage", "nothing", "with"] {
        let programs = Programs::new();
        let Some(other) = programs.compiled("replaced", &["-DLOCK=other_lock", "-DFUNCTION=other_function"]) else {
            return;
        };
        let next = programs.path("next");
        std::fs::rename(other, &next).unwrap();
        let Some(program) = programs.compiled("replaced", &[]) else { return };
        let arguments: &[&str] =
            if becomes == "with" { &["with", next.to_str().unwrap(), "60"] } else { &[becomes, "60"] };
        let Some(mut process) = watched(&program, arguments) else { return };
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "replaced\n");
        let record = attached_within_limits(&programs, process.id());
        process.kill().unwrap();
        process.wait().unwrap();
        let (rows, warnings) = (record["results"].to_string(), record["warnings"].to_string());
        assert!(!rows.contains("other_"), "{becomes}: named from another file: {rows}");
        let is_named = rows.contains("mapped_lock") && rows.contains("mapped_function (replaced.c:");
        assert!(is_named || warnings.contains("unnamed_code"), "{becomes}: {rows}\n{warnings}");
    }
}

/// Recording tens of thousands of waits a second slows a process, so they are recorded now and then, and scaled. On a busy
/// machine a window can fall into a time in which the process has no CPU, so one of four traces is right.
#[test]
fn very_many_calls_are_recorded_in_windows_and_scaled() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("handoffs", &["-O1"]) else { return };
    let traced = |flags: &[&str]| {
        let process = watched(&program, &["5"])?;
        let file = programs.path("attached.json");
        let output = ["--format", "json", "--output", file.to_str().unwrap()];
        let output = attach(&process.id().to_string(), &[&output, flags].concat()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = process.wait_with_output().unwrap().stdout;
        let left: f64 = String::from_utf8_lossy(&said).trim().parse().unwrap();
        Some((crate::command::read(&std::fs::read(&file).unwrap()), left))
    };
    let turns = |record: &Value| {
        let rows = record["results"].as_array().unwrap().iter();
        rows.filter(|row| row["kind"] == "lock" && row["type"] == "sem").cloned().collect::<Vec<Value>>()
    };
    let Some((whole, _)) = traced(&["--full"]) else { return };
    // On a busy machine, events of a whole record are lost.
    assert!(!whole["warnings"].to_string().contains("futex_windows"), "{}", whole["warnings"]);
    assert_eq!(whole["parameters"]["switches_share"], 1.0);
    assert!(turns(&whole).iter().all(|row| row["wait_total_ci_s"].is_null()), "{:#?}", turns(&whole));
    let wrong = || {
        let (record, left) = traced(&[]).unwrap();
        let (parameters, turns) = (&record["parameters"], turns(&record));
        assert!(record["warnings"].to_string().contains("futex_windows"), "{}", record["warnings"]);
        assert!(parameters["switches_share"].as_f64() < Some(0.95), "{parameters}");
        assert!(turns.iter().all(|row| !row["wait_total_ci_s"].is_null()), "{turns:#?}");
        let sum = |field| turns.iter().map(|row| row[field].as_f64().unwrap()).sum::<f64>();
        // The trace begins a little later; and a thread that is woken before it is asleep has waited, too.
        let counted = sum("contended") / left;
        let waited = sum("wait_total_s") / parameters["elapsed_s"].as_f64().unwrap();
        let is_right = (0.2..4.0).contains(&counted) && (0.1..2.5).contains(&waited);
        (!is_right).then(|| format!("{counted} of the turns, {waited} of the time: {turns:#?}"))
    };
    let all: Vec<String> = (0..4).map(|_| wrong()).take_while(Option::is_some).flatten().collect();
    assert!(all.len() < 4, "four times: {}", all[3]);
}

/// Threads that wait for another lock in the waiters' function do not hold this one: the record knows who released it.
/// Samples are few on a busy machine, so one of four traces is right.
#[test]
fn holder_in_another_function_than_its_waiters_is_found() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("elsewhere", &["-O1"]) else { return };
    let Some(mut process) = watched(&program, &["60"]) else { return };
    let wrong = |_| findings_of_elsewhere(&programs, process.id());
    let wrong = (0..4).map(wrong).take_while(Option::is_some).flatten().collect::<Vec<String>>();
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(wrong.len() < 4, "four times: {}", wrong[3]);
}

/// Returns the findings if they are wrong.
fn findings_of_elsewhere(programs: &Programs, pid: u32) -> Option<String> {
    let file = programs.path("attached.json");
    let flags = ["--seconds", "1.5", "--format", "json", "--output", file.to_str().unwrap()];
    let output = attach(&pid.to_string(), &flags).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let record = crate::command::read(&std::fs::read(&file).unwrap());
    let rows = record["results"].as_array().unwrap().iter();
    let findings: Vec<&Value> = rows.filter(|row| row["kind"] == "finding").collect();
    let said = |object: &str, field: &str| {
        let finding = findings.iter().find(|row| row["object"] == object);
        finding.and_then(|row| row[field].as_str()).unwrap_or_default()
    };
    let is_right = said("config_lock", "place").starts_with("reload (elsewhere.c:")
        && said("config_lock", "cause").starts_with("the holder slept")
        && said("index_lock", "remedy").contains("acquire config_lock outside");
    (!is_right).then(|| format!("{findings:#?}"))
}

#[test]
fn a_process_with_locks_in_anonymous_shared_memory_is_watched() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("shared", &[]) else { return };
    let Some(mut process) = watched(&program, &["100000"]) else { return };
    let children = format!("/proc/{0}/task/{0}/children", process.id());
    let until = Instant::now() + Duration::from_secs(60);
    let child = loop {
        let text = std::fs::read_to_string(&children).unwrap_or_default();
        if let Some(child) = text.split_whitespace().next() {
            break child.parse().unwrap();
        }
        assert!(Instant::now() < until, "it has no children");
        std::thread::sleep(Duration::from_millis(5));
    };
    let record = attached_within_limits(&programs, child);
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(record["results"].to_string().contains("main (shared.c:"), "{}", record["results"]);
}
