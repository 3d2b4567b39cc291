//! Ctrl-C and SIGTERM at any moment.

mod command;

use command::read;
use std::process::{Child, Command, Output, Stdio};
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

/// Signals before it catches them end it as they end any program.
fn wait_until_it_catches(child: &Child, signal: rustix::process::Signal) {
    let bit = 1_u64 << (signal.as_raw() - 1);
    let catches = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap_or(0) & bit != 0)
    };
    until(catches, "it catches the signal");
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

fn interrupt(child: Child, after: Duration, signal: rustix::process::Signal) -> Output {
    wait_until_it_catches(&child, signal);
    std::thread::sleep(after);
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, signal).expect("the child still runs");
    child.wait_with_output().expect("the child ends")
}

/// The system's semaphore sets, a line each.
fn semaphores() -> Vec<String> {
    let table = std::fs::read_to_string("/proc/sysvipc/sem").unwrap_or_default();
    table.lines().skip(1).map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
}

/// Sets that were not there before. Those of other programs that still run go away within seconds.
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
fn what_was_measured_is_printed_and_nothing_is_left_behind() {
    let before = semaphores();
    for (after_ms, signal) in [(400, rustix::process::Signal::INT), (2_500, rustix::process::Signal::TERM)] {
        let child =
            start(&["latency", "--lock", "sysv,benaphore", "--threads", "2", "--seconds", "60", "--format", "json"]);
        let output = interrupt(child, Duration::from_millis(after_ms), signal);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        if output.stdout.is_empty() {
            assert!(stderr.contains("before anything was measured"), "{stderr}");
        } else {
            let record = read(&output.stdout);
            assert_eq!(record["environment"]["interrupted"], true);
            assert!(record["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "interrupted"));
        }
    }
    assert_eq!(left_behind(&before), Vec::<String>::new());
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

/// From every process's own word about its parent: the list of children is an option of the kernel.
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

/// A zombie does not live; whoever inherits it will wait for it.
fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

#[test]
fn processes_are_interrupted_too() {
    let child = start(&["throughput", "--processes", "--children", "4", "--seconds", "60", "--format", "json"]);
    let output = interrupt(child, Duration::from_millis(3_000), rustix::process::Signal::TERM);
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The experiment at hand ends, the next do not begin, and the rest of the survey is as ever.
#[test]
fn a_survey_that_is_interrupted_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let page = page.to_str().unwrap();
    let child = start(&["survey", "--only", "load,model", "--seconds", "60", "--format", "json", "--page", page]);
    let output = interrupt(child, Duration::from_millis(3_500), rustix::process::Signal::INT);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    if output.stdout.is_empty() {
        assert!(stderr.contains("before anything was measured"), "{stderr}");
    } else {
        let record = read(&output.stdout);
        assert_eq!(record["environment"]["interrupted"], true);
        let of =
            |name: &str| record["results"].as_array().unwrap().iter().filter(|row| row["experiment"] == name).count();
        assert!(of("load") > 0 && of("model frames") == 0, "{record}");
        assert!(std::path::Path::new(page).is_file(), "{stderr}");
    }
}

#[test]
fn noise_is_interrupted_in_the_middle_of_a_turn() {
    let child = start(&["noise", "--scenario", "competitor", "--samples", "100G", "--format", "json"]);
    let output = interrupt(child, Duration::from_millis(1_500), rustix::process::Signal::INT);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    if output.stdout.is_empty() {
        assert!(stderr.contains("before anything was measured"), "{stderr}");
    } else {
        let record = read(&output.stdout);
        assert_eq!(record["environment"]["interrupted"], true);
    }
}

/// Its threads, the real-time one included, are the process's own, and so is all that it opened to see the kernel's record.
#[test]
fn noise_that_is_killed_leaves_nothing() {
    let tracing = || std::fs::read_to_string("/proc/mounts").unwrap().matches("tracefs").count();
    let before = tracing();
    for after_ms in [150, 400, 900] {
        let mut child = start(&["noise", "--seconds", "60"]);
        std::thread::sleep(Duration::from_millis(after_ms));
        let pid = child.id();
        child.kill().unwrap();
        child.wait().unwrap();
        until(|| !lives(pid), "the process and all its threads have ended");
        assert!(!std::path::Path::new(&format!("/proc/{pid}/task")).exists());
    }
    assert_eq!(tracing(), before);
}

#[test]
fn the_clock_is_interrupted_too() {
    let child = start(&["clock", "--seconds", "60", "--format", "json"]);
    let output = interrupt(child, Duration::from_millis(3_000), rustix::process::Signal::INT);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    if output.stdout.is_empty() {
        assert!(stderr.contains("before anything was measured"), "{stderr}");
    } else {
        let record = read(&output.stdout);
        assert_eq!(record["environment"]["interrupted"], true);
    }
}
