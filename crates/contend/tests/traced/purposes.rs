//! The purpose of a word or a condition by its use: the same answer for all names of the functions, launched and attached.

use crate::programs::{Programs, traced};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The names of the functions that acquire, release and wait for a job.
const BUILDS: [&[&str]; 3] = [
    &[],
    &["-DENTER=my_lock", "-DLEAVE=my_unlock", "-DNEXT=acquire_job"],
    &["-DENTER=next", "-DLEAVE=done", "-DNEXT=lock_queue", "-s"],
];

/// Attaches for a second; `None` where that needs a privilege.
fn attached(programs: &Programs, program: &Path, argument: &str) -> Option<Value> {
    let mut running = Command::new(program).arg(argument).stdout(Stdio::null()).spawn().unwrap();
    sleep(Duration::from_millis(200));
    let record = attached_to(programs, running.id());
    let _ = running.kill();
    running.wait().unwrap();
    let codes: Vec<&str> =
        record["warnings"].as_array().unwrap().iter().filter_map(|warning| warning["code"].as_str()).collect();
    if codes.contains(&"no_futex_calls") {
        println!("skipped: needs CAP_PERFMON and a readable tracefs");
        return None;
    }
    Some(record)
}

fn attached_to(programs: &Programs, pid: u32) -> Value {
    let file = programs.path("attached.json");
    let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
    contend.args(["trace", "--pid", &pid.to_string(), "--seconds", "1.2", "--format", "json", "--output"]).arg(&file);
    let output = contend.env("CONTEND_ARCHIVE", "").stdin(Stdio::null()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap()
}

/// Returns the records of a program, launched and attached.
fn records(programs: &Programs, program: &Path, argument: &str) -> Option<[Value; 2]> {
    let launched = traced(programs, &[], program, &[argument]).record;
    Some([launched, attached(programs, program, argument)?])
}

fn findings(record: &Value) -> Vec<&Value> {
    record["results"].as_array().unwrap().iter().filter(|row| row["kind"] == "finding").collect()
}

#[test]
fn own_lock_is_one_whatever_its_functions_are_called() {
    let programs = Programs::new();
    for build in BUILDS {
        let Some(program) = programs.compiled("purposes", build) else { return };
        let Some(records) = records(&programs, &program, "locked") else { return };
        for (how, record) in ["launched", "attached"].iter().zip(&records) {
            let found = findings(record);
            let context = || format!("{build:?} {how}: {} {found:#?}", record["parameters"]);
            assert_eq!(record["parameters"]["verdict"], "locks", "{}", context());
            assert_eq!(found.len(), 1, "{}", context());
            assert_eq!(found[0]["type"], "lock", "{}", context());
            // Without symbols the function has no name.
            let cause = found[0]["cause"].as_str().unwrap();
            let is_known = cause.contains("slept") && (build.contains(&"-s") || cause.contains("store_page"));
            assert!(is_known, "{}", context());
        }
    }
}

/// More buffers do not help threads whose reader is slow.
#[test]
fn full_pipe_behind_a_stream_is_what_its_threads_wait_for() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("workers", &["-O2"]) else { return };
    let record = traced(&programs, &[], &program, &["stream", "1500"]).record;
    let found = findings(&record);
    assert_eq!(found.first().map(|row| &row["rule"]), Some(&"stream_lock".into()), "{}", record["parameters"]);
    let remedy = found[0]["remedy"].as_str().unwrap();
    assert!(remedy.contains("reads") && !remedy.contains("buffer"), "{:#}", found[0]);
}

#[test]
fn parent_that_was_watched_without_its_children_is_undecided() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("workers", &["-O2"]) else { return };
    let mut parent = Command::new(&program).args(["parent", "20000"]).spawn().unwrap();
    sleep(Duration::from_millis(200));
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", parent.id())).unwrap();
    let record = attached_to(&programs, parent.id());
    for child in children.split_whitespace() {
        let child = rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap();
        rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
    }
    parent.wait().unwrap();
    let parameters = &record["parameters"];
    assert_eq!(parameters["verdict"], "undecided", "{parameters}");
    let reason = parameters["verdict_reason"].as_str().unwrap();
    assert!(children.split_whitespace().all(|child| reason.contains(child)), "{reason}");
}

#[test]
fn lock_made_of_a_mutex_and_a_condition_is_one() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("purposes", &[]) else { return };
    let Some(records) = records(&programs, &program, "gated") else { return };
    for record in &records {
        let found = findings(record);
        assert_eq!(record["parameters"]["verdict"], "locks", "{} {found:#?}", record["parameters"]);
        assert!(found[0]["object"].as_str().unwrap().starts_with("page_gate"), "{found:#?}");
        assert!(found[0]["cause"].as_str().unwrap().contains("store_page"), "{found:#?}");
    }
}

#[test]
fn healthy_pool_is_no_lock_whatever_its_functions_are_called() {
    let programs = Programs::new();
    for build in BUILDS {
        let Some(program) = programs.compiled("purposes", build) else { return };
        for argument in ["idle", "told"] {
            let Some(records) = records(&programs, &program, argument) else { return };
            for record in &records {
                assert_ne!(record["parameters"]["verdict"], "locks", "{build:?} {argument}: {}", record["parameters"]);
                assert!(findings(record).is_empty(), "{build:?} {argument}");
                // A condition of the C library is one whatever the program's names are, at both of its words.
                let whole = record["results"].as_array().unwrap().iter().find(|row| row["kind"] == "budget").unwrap();
                let [unknown_s, lived_s] = ["unknown_s", "lived_s"].map(|part| whole[part].as_f64().unwrap());
                assert!(argument == "idle" || unknown_s < 0.1 * lived_s, "{build:?}: {whole:#}");
                let place = record["results"].as_array().unwrap().iter().find(|row| row["kind"] == "place");
                assert!(
                    place.is_some_and(|row| row["type"] == "work" || row["type"] == "sleep"),
                    "{build:?}: {place:?}"
                );
            }
        }
    }
}

/// Each thread waits at a separate condition. The library knows the mutex of all of them; from outside it is not known whether
/// the threads hand on a lock or work.
#[test]
fn lock_that_is_handed_on_is_one_or_undecided() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("purposes", &[]) else { return };
    let Some([launched, attached]) = records(&programs, &program, "handed") else { return };
    let found = findings(&launched);
    assert_eq!(launched["parameters"]["verdict"], "locks", "{} {found:#?}", launched["parameters"]);
    assert_eq!(found[0]["type"], "lock", "{found:#?}");
    assert!(found[0]["cause"].as_str().unwrap().contains("store_page"), "{found:#?}");
    assert_eq!(attached["parameters"]["verdict"], "undecided", "{}", attached["parameters"]);
    assert!(findings(&attached).is_empty());
}

/// A lock made of an eventfd, and one whose waiters give up their CPU: what may be a lock is not said to be none.
#[test]
fn what_may_be_a_lock_is_undecided() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("purposes", &[]) else { return };
    for argument in ["counted", "yielded"] {
        let Some([launched, attached]) = records(&programs, &program, argument) else { return };
        let verdict = |record: &Value| record["parameters"]["verdict"].as_str().unwrap_or_default().to_owned();
        assert_eq!(verdict(&launched), "undecided", "{argument}: {}", launched["parameters"]);
        assert!(findings(&launched).is_empty(), "{argument}: {:#?}", findings(&launched));
        assert_ne!(verdict(&attached), "locks", "{argument}: {}", attached["parameters"]);
    }
}

/// A semaphore that brings an answer, and a barrier of two threads, which each wake the other in turn.
#[test]
fn answers_and_meetings_are_no_locks() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("purposes", &[]) else { return };
    for argument in ["served", "phases"] {
        let Some(records) = records(&programs, &program, argument) else { return };
        for record in &records {
            assert_ne!(record["parameters"]["verdict"], "locks", "{argument}: {}", record["parameters"]);
            assert!(findings(record).is_empty(), "{argument}: {:#?}", findings(record));
        }
    }
}
