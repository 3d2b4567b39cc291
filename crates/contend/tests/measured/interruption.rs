//! Ctrl-C and SIGTERM at any moment.

use crate::command::cpuset::Cpuset;
use crate::command::read;
use crate::command::watched::Watched;
use rustix::process::Signal;
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_contend"))
        .env("CONTEND_ARCHIVE", "")
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

fn until(mut done: impl FnMut() -> bool, what: &str) {
    for _ in 0..600 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("never: {what}");
}

/// Interrupts a run as soon as it reports this step; returns its output, if any.
fn interrupted(arguments: &[&str], at: &str, signal: Signal) -> Option<Value> {
    crate::command::heard::interrupts();
    let child = Watched::start(arguments);
    child.until(at);
    let ended = child.interrupt(signal);
    println!("{arguments:?} at {at:?}: ended after {:?}", ended.took);
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    if ended.stdout.is_empty() {
        assert!(ended.stderr.contains("before anything was measured"), "{}", ended.stderr);
        return None;
    }
    let record = read(&ended.stdout);
    assert_eq!(record["environment"]["interrupted"], true);
    let warnings = record["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["code"] == "interrupted" || warning["reason"] == "interrupted"));
    Some(record)
}

/// Returns the system's semaphore sets, a line each.
fn semaphores() -> Vec<String> {
    let table = std::fs::read_to_string("/proc/sysvipc/sem").unwrap_or_default();
    table.lines().skip(1).map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
}

/// Returns the sets that are new.
///
/// Those of other programs that still run disappear within seconds.
fn left_behind(before: &[String]) -> Vec<String> {
    let left = || semaphores().into_iter().filter(|set| !before.contains(set)).collect::<Vec<_>>();
    for _ in 0..100 {
        if left().is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    left()
}

#[test]
fn interrupted_run_prints_its_results_and_leaves_nothing() {
    let before = semaphores();
    let call = ["latency", "--lock", "sysv,benaphore", "--threads", "2", "--seconds", "60", "--format", "json"];
    interrupted(&call, "calibrating", Signal::INT);
    interrupted(&call, "benaphore, 2 threads", Signal::TERM);
    assert_eq!(left_behind(&before), Vec::<String>::new());
}

/// Repetitions that last as long as a minute are cut short.
#[test]
fn long_repetition_is_cut_short() {
    let run = ["--run", "60s", "--children", "2", "--lock", "std", "--seconds", "600", "--format", "json"];
    interrupted(&[&["throughput"], &run[..]].concat(), "std, 2 threads", Signal::INT);
    let shared = ["--run", "60s", "--children", "2", "--lock", "calock", "--seconds", "600", "--format", "json"];
    interrupted(&[&["throughput", "--processes"], &shared[..]].concat(), "calock, 2 processes", Signal::INT);
    // With this seed a window of ten seconds comes first.
    let clock = ["clock", "--longest", "30s", "--seconds", "300", "--seed", "11", "--format", "json"];
    assert!(interrupted(&clock, "running busy loops of 9.53 s", Signal::INT).is_some());
    assert!(interrupted(&clock, "searching for periodic losses", Signal::INT).is_some());
}

/// The hops of a ring in this process check no flag, and these would take an hour.
#[test]
fn ring_with_many_hops_is_abandoned() {
    crate::command::heard::interrupts();
    for (contestant, hops) in [("rust-futex", "500M"), ("rust-optimum", "4e9"), ("rust-pipe", "500M")] {
        let ring = ["ring", "--hops", hops, "--contestant", contestant];
        let arguments = [&ring[..], &["--timeout", "1h", "--no-memory", "--large", "0"]].concat();
        let mut child = start(&arguments);
        let pid = child.id();
        // Its threads exist, and so does its handler.
        until(|| caught(pid), "it catches signals");
        std::thread::sleep(Duration::from_millis(700));
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::INT).unwrap();
        let mut status = None;
        let began = std::time::Instant::now();
        while status.is_none() && began.elapsed() < Duration::from_secs(60) {
            status = child.try_wait().unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        let took = began.elapsed();
        child.kill().unwrap();
        child.wait().unwrap();
        println!("{contestant}: ended after {took:?}");
        assert_eq!(status.and_then(|status| status.code()), Some(130), "{contestant}, after {took:?}");
    }
}

/// Returns whether SIGINT has a handler.
fn caught(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 0b10 != 0)
}

/// Children die with their parent, even if that is killed.
#[test]
fn a_killed_parent_leaves_no_child() {
    let arguments =
        ["throughput", "--processes", "--children", "8", "--lock", "calock,usema", "--run", "500ms", "--seconds", "60"];
    let mut child = start(&arguments);
    let mut group = Vec::new();
    until(
        || {
            group = children_of(child.id());
            !group.is_empty()
        },
        "it has children to leave",
    );
    child.kill().unwrap();
    child.wait().unwrap();
    until(|| group.iter().all(|&pid| !lives(pid)), "its children have ended");
}

/// A killed child has the lock or waits for it, so the others would wait forever.
#[test]
fn killed_child_ends_the_run_and_leaves_no_child() {
    let locks =
        ["throughput", "--processes", "--lock", "hapax,twa", "--children", "3", "--nonhold", "0", "--hold", "1ms"];
    let child = start(&[&locks[..], &["--run", "10s", "--seconds", "300"]].concat());
    let mut group = Vec::new();
    until(
        || {
            group = children_of(child.id());
            group.len() >= 3
        },
        "it has three children",
    );
    let killed = rustix::process::Pid::from_raw(group[0] as i32).unwrap();
    rustix::process::kill_process(killed, Signal::KILL).unwrap();
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(1) && stderr.contains("was killed by signal 9"), "{stderr}");
    assert!(group.iter().all(|&pid| !lives(pid)), "{group:?}");
}

/// Returns the children, from every process's own parent ID: the list of children is an option of the kernel.
fn children_of(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        fields.split_whitespace().nth(1).and_then(|field| field.parse().ok()) == Some(parent)
    })
    .collect()
}

/// Returns whether the process runs.
///
/// A zombie does not count: its new parent will wait for it.
fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

#[test]
fn child_processes_are_interrupted_too() {
    let call = ["throughput", "--processes", "--children", "4", "--seconds", "60", "--format", "json"];
    interrupted(&call, "4 processes", Signal::TERM);
}

/// The current experiment ends, the next ones do not begin, and the rest of the survey is as usual.
#[test]
fn interrupted_survey_keeps_its_results() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let page = page.to_str().unwrap();
    let call = ["survey", "--only", "clock,load,ring,model", "--seconds", "6", "--format", "json", "--page", page];
    let record = interrupted(&call, "load: the time that is left over", Signal::INT).expect("the clock was measured");
    let of = |name: &str| record["results"].as_array().unwrap().iter().filter(|row| row["experiment"] == name).count();
    // The computed parts come first.
    assert!(of("clock") > 0 && of("model frames") > 0 && of("ring") == 0, "{record}");
    assert!(std::path::Path::new(page).is_file());
}

#[test]
fn noise_is_interrupted_within_a_repetition() {
    let call = ["noise", "--scenario", "competitor", "--samples", "100G", "--format", "json"];
    interrupted(&call, "competitor", Signal::INT);
}

/// The one configuration in progress would take minutes.
#[test]
fn model_of_locks_is_interrupted_within_a_configuration() {
    let machines = ["model", "locks", "--lock", "mcs,clh", "--cores", "1,128", "--run", "10s"];
    let call = [&machines[..], &["--nonhold", "200us", "--hold", "2us", "--format", "json"]].concat();
    let record = interrupted(&call, "modelling mcs on 128 cores", Signal::INT).expect("one core was modelled");
    let of_one_core = |row: &Value| row["cores"] == 1;
    let rows = record["results"].as_array().unwrap();
    assert!(rows.len() == 2 && rows.iter().all(of_one_core), "{record}");
}

/// Its threads, the real-time one included, belong to the process, and so do all its descriptors of kernel events.
#[test]
fn killed_noise_leaves_nothing() {
    let tracing = || std::fs::read_to_string("/proc/mounts").unwrap().matches("tracefs").count();
    let before = tracing();
    for at in ["calibrating", "quiet", "competitor and rescheduler"] {
        let child = Watched::start(&["noise", "--scenario", "quiet,competitor,both", "--seconds", "20"]);
        child.until(at);
        let pid = child.id();
        child.interrupt(Signal::KILL);
        until(|| !lives(pid), "the process and all its threads have ended");
        assert!(!std::path::Path::new(&format!("/proc/{pid}/task")).exists());
    }
    assert_eq!(tracing(), before);
}

/// Container managers take a CPU from a running process whenever they place another container.
#[test]
fn a_cpu_taken_away_ends_the_run_and_keeps_its_results() {
    for (call, at) in [
        (&["noise", "--scenario", "quiet,competitor", "--seconds", "20"][..], "competitor"),
        (&["clock", "--longest", "100ms", "--seconds", "60"], "running busy loops"),
        (&["throughput", "--lock", "std,pthread", "--children", "2", "--run", "50ms", "--seconds", "60"], "pthread"),
        (
            &["latency", "--placement", "spread", "--lock", "std,pthread", "--threads", "2", "--seconds", "60"],
            "pthread",
        ),
    ] {
        let Some(cpuset) = Cpuset::new() else { return };
        let child = Watched::start(&[call, &["--format", "json"]].concat());
        cpuset.adopt(child.id());
        child.until(at);
        // A repetition has ended by then.
        std::thread::sleep(Duration::from_millis(500));
        cpuset.shrink();
        let ended = child.ended();
        assert_eq!(ended.status.code(), Some(130), "{call:?}: {}", ended.stderr);
        let record = read(&ended.stdout);
        assert_eq!(record["environment"]["interrupted"], true);
        let taken = record["warnings"].as_array().unwrap().iter().find(|warning| warning["code"] == "cpus_taken_away");
        assert_eq!(taken.unwrap()["left"], "0", "{call:?}");
    }
}
