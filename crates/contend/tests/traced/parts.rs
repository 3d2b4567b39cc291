//! `contend trace --every`: a record of each period; programs that become daemons; programs that use new locks for as
//! long as they run.

use crate::limits::run_within_limits;
use crate::patience::Patience;
use crate::programs::{Programs, command as trace};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A wait of this length never ends, at any speed of the machine.
const HANGS: Duration = Duration::from_secs(60);

/// Returns the records of a directory, in the order of their numbers.
fn records(folder: &Path) -> Vec<Value> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()).collect();
    // A killed writer cannot remove its draft.
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().map(|file| crate::command::read(&std::fs::read(file).unwrap())).collect()
}

/// Returns the acquisitions of all locks.
fn acquisitions(record: &Value) -> u64 {
    let rows = record["results"].as_array().unwrap().iter().filter(|row| row["kind"] == "lock");
    rows.map(|row| row["acquisitions"].as_u64().unwrap()).sum()
}

/// The program uses new locks and new threads all the time, and counts its acquisitions. It runs for two parts at any
/// speed of the machine.
#[test]
fn parts_have_all_acquisitions_and_each_once() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("churn", &[]) else { return };
    let folder = programs.path("records");
    let flags = ["--every", "1s", "--format", "json", "--output", folder.to_str().unwrap(), "--quiet"];
    let output = run_within_limits(&trace(&flags, &program, &["4000000", "2000", "2500"]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counted: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    let records = records(&folder);
    assert!(records.len() >= 2, "{}", records.len());
    assert_eq!(records.iter().map(acquisitions).sum::<u64>(), counted);
    assert!(records.iter().filter(|record| acquisitions(record) > 0).count() >= 2);
    for (place, record) in records.iter().enumerate() {
        let (parameters, is_last) = (&record["parameters"], place + 1 == records.len());
        assert_eq!(parameters["part"]["number"], place + 1);
        let is_short = parameters["elapsed_s"].as_f64() < parameters["part"]["period_s"].as_f64();
        assert_eq!(parameters["part"]["is_partial"], is_short);
        assert!(is_last || !is_short, "{parameters}");
        assert_eq!(parameters["lost"]["uses_of_sites"], 0, "{parameters}");
        let ended_s = parameters["part"]["began_s"].as_f64().unwrap() + parameters["elapsed_s"].as_f64().unwrap();
        if let Some(next) = records.get(place + 1) {
            assert!((next["parameters"]["part"]["began_s"].as_f64().unwrap() - ended_s).abs() < 1e-6);
        }
    }
    // The last part can be short, and have room for its locks.
    let is_folded = |record: &Value| record["warnings"].to_string().contains("folded_locks");
    assert!(
        records.iter().any(is_folded),
        "{:?}",
        records.iter().map(|record| &record["warnings"]).collect::<Vec<_>>()
    );
}

#[test]
fn killed_contend_leaves_whole_records_and_the_last_ones() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    let folder = programs.path("records");
    let flags = ["--every", "1s", "--keep", "1", "--format", "json", "--output", folder.to_str().unwrap(), "--quiet"];
    let mut child = trace(&flags, &program, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + HANGS;
    let numbers =
        || records(&folder).iter().map(|record| record["parameters"]["part"]["number"].as_u64()).collect::<Vec<_>>();
    while numbers().iter().all(|number| *number < Some(2)) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left = numbers();
    // It was killed between the writing of one file and the removal of the other, or after both.
    assert!(left.last() >= Some(&Some(2)) && left.len() <= 2, "{left:?}");
}

#[test]
fn nowhere_to_save_and_no_directory_are_refused() {
    let programs = Programs::new();
    let file = programs.path("file");
    std::fs::write(&file, "text").unwrap();
    for (flags, words) in [
        (&["--every", "1s"][..], "name a directory with --output"),
        (&["--every", "1s", "--output", file.to_str().unwrap()], "not a directory"),
        (&["--every", "1ms"], "must be at least 1s"),
        (&["--keep", "3"], "--every"),
    ] {
        let output = trace(flags, Path::new("true"), &[]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && stderr.contains(words), "{flags:?}: {stderr}");
    }
}

#[test]
fn daemon_is_named_and_traced_to_its_end() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("daemon", &[]) else { return };
    let file = programs.path("daemon.json");
    let flags = ["--format", "json", "--output", file.to_str().unwrap()];
    let mut child = trace(&flags, &program, &["60000"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut said = Vec::new();
    let is_named = |line: &String| line.starts_with("the program ended, and 1 process of it goes on: daemon (process ");
    let line = lines.by_ref().inspect(|line| said.push(line.clone())).find(is_named);
    let pid = line.as_ref().and_then(|line| line.rsplit(' ').next()?.trim_end_matches(')').parse().ok());
    let rest = std::thread::spawn(move || lines.collect::<Vec<String>>());
    let pid = pid.unwrap_or_else(|| panic!("no daemon is named: {said:?}"));
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    let status = child.wait_with_output_in(HANGS).status;
    assert_eq!(status.code(), Some(4), "{:?}", rest.join().unwrap());
    let record = crate::command::read(&std::fs::read(&file).unwrap());
    assert!(record["warnings"].to_string().contains("outlived_program"));
    // Each hold lasts 2 ms, and the program itself made no call.
    assert!(acquisitions(&record) > 1, "{}", record["results"]);
}

#[test]
fn daemon_and_its_later_child_end_with_the_seconds_of_the_trace() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("daemon", &[]) else { return };
    let mut child =
        trace(&["--seconds", "1", "--quiet"], &program, &["600000", "forks"]).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.stderr.take().unwrap();
    // The daemon keeps no pipe of contend's open.
    let text = std::thread::spawn(move || std::io::read_to_string(output).unwrap());
    let status = child.wait_with_output_in(HANGS).status;
    assert_eq!(status.code(), Some(4));
    assert!(text.join().unwrap().contains("daemon_lock"));
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let runs =
        processes.filter_map(|entry| std::fs::read_link(entry.path().join("exe")).ok()).any(|file| file == program);
    assert!(!runs, "the daemon or its child lives");
}
