//! `contend trace --word`: a spin lock's word is watched by hardware watchpoints, in a program that counts for itself.

use crate::programs::Programs;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

/// The words that contend's error has where the kernel has no watchpoints for it.
const REFUSED: [&str; 3] = ["hardware watchpoints", "debug registers", "needs root"];
const TURNS: u64 = 150;

#[test]
fn watched_spin_lock_equals_the_account_of_the_program() {
    let programs = Programs::new();
    for (kind, flags) in [("own", &[][..]), ("glibc", &["-static"])] {
        let Some(program) = programs.compiled("spinlock", flags) else { return };
        // The program can be preempted between its reading of the clock and its access; not in each of several runs.
        let mut runs = (0..5).map_while(|_| hold_off(&programs, &program, kind));
        let Some(first) = runs.next() else { return println!("skipped: needs hardware watchpoints") };
        assert!(first < 0.1 || runs.any(|off| off < 0.1), "five times, {kind}, at first: {first}");
    }
}

/// Returns by how much the median hold differs; `None` where words cannot be watched. The counts are exact.
fn hold_off(programs: &Programs, program: &Path, kind: &str) -> Option<f64> {
    let turns = TURNS.to_string();
    let mut watched = Command::new(program);
    watched.args([kind, "2", &turns, "300000", "300000"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut watched = watched.spawn().unwrap();
    let file = programs.path("word.json");
    let word = format!("{kind}_lock");
    let mut contend = trace(&watched.id().to_string(), &["--word", &word, "--word-budget", "100%"]);
    contend.args(["--interval", "100ms", "--format", "json", "--output", file.to_str().unwrap()]);
    let mut contend = contend.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(contend.stderr.take().unwrap()).lines().map_while(Result::ok);
    // The words are watched before the first line.
    let first = lines.find(|line| line.contains("waited") || line.contains("error")).unwrap_or_default();
    let rest = std::thread::spawn(move || lines.collect::<Vec<String>>());
    if REFUSED.iter().any(|words| first.contains(words)) {
        watched.kill().unwrap();
        watched.wait().unwrap();
        contend.wait().unwrap();
        return None;
    }
    watched.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let output = watched.wait_with_output().unwrap();
    let status = contend.wait().unwrap();
    assert!(status.success(), "{first}\n{:?}", rest.join().unwrap());
    let account = String::from_utf8(output.stdout).unwrap();
    let account: Vec<f64> = account.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [acquisitions, p50_ns, _, _] = account[..] else { panic!("{account:?}") };
    let record = crate::command::read(&std::fs::read(&file).unwrap());
    let row = words(&record).next().unwrap_or_else(|| panic!("no word in {}", record["results"]));
    assert_eq!(
        (row["lock"].as_str(), row["acquisitions"].as_f64()),
        (Some(word.as_str()), Some(acquisitions)),
        "{row}"
    );
    assert_eq!((&row["word"]["lost_accesses"], &row["holds_timed"]), (&0.into(), &(2 * TURNS).into()), "{row}");
    let site = row["word"]["sites"][0]["site"].as_str().unwrap();
    assert!(site.contains("(spinlock.c:"), "{row}");
    Some((row["hold_p50_ns"].as_f64().unwrap() / p50_ns - 1.0).abs())
}

fn words(record: &Value) -> impl Iterator<Item = &Value> {
    record["results"].as_array().unwrap().iter().filter(|row| row["kind"] == "word")
}

fn trace(pid: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env("CONTEND_ARCHIVE", "").args(["trace", "--pid", pid]).args(flags).stdin(Stdio::null());
    command
}

#[test]
fn words_that_cannot_be_watched_are_refused_with_the_reason() {
    let own = std::process::id().to_string();
    let cases: &[(&[&str], &str)] = &[
        (&["--word", "no_such_variable"], "no variable of this name"),
        (&["--word", "0x10"], "no readable memory"),
        (&["--word", "a", "--word", "b", "--word", "c", "--word", "d", "--word", "e"], "up to 4"),
        (&["--word", "a", "--word-budget", "0"], "0.1% to 100%"),
        (&["--word-budget", "5%"], "--word"),
    ];
    for (flags, words) in cases {
        let output = trace(&own, flags).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {stderr}");
        assert!(stderr.contains(words), "{flags:?}: {stderr}");
    }
}

#[test]
fn words_of_a_started_program_are_in_its_record() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("patients", &["-O2"]) else { return };
    let traced = crate::programs::traced(&programs, &["--word", "cache_lock"], &program, &["sleeps"]);
    let warnings = traced.record["warnings"].to_string();
    if REFUSED.iter().any(|words| warnings.contains(words)) {
        return println!("skipped: needs hardware watchpoints");
    }
    let row = words(&traced.record).next().unwrap_or_else(|| panic!("no word: {warnings}"));
    assert!(row["acquisitions"].as_u64() > Some(0), "{row}");
    let unknown = crate::programs::traced(&programs, &["--word", "no_such_lock"], &program, &["--unknown"]);
    assert!(
        unknown.record["warnings"].to_string().contains("no variable of this name"),
        "{}",
        unknown.record["warnings"]
    );
}

/// The watchpoints of 64 threads take at least 64 files on any machine.
#[test]
fn limit_of_open_files_is_raised_or_the_need_is_named() {
    static WORD: AtomicU32 = AtomicU32::new(0);
    let is_over = &AtomicBool::new(false);
    let pause = || std::thread::park_timeout(Duration::from_millis(50));
    let wait = || (0..).take_while(|_| !is_over.load(Relaxed)).for_each(|_| pause());
    std::thread::scope(|scope| {
        (0..64).for_each(|_| drop(scope.spawn(wait)));
        let (pid, word) = (std::process::id().to_string(), format!("{:#x}", (&raw const WORD).addr()));
        let limited = |limit: &str| {
            let mut shell = Command::new("sh");
            shell.env("CONTEND_ARCHIVE", "").stdin(Stdio::null()).arg("-c");
            shell.args([&format!("ulimit {limit} 60; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_contend")]);
            shell.args(["trace", "--pid", &pid, "--seconds", "0.2", "--quiet", "--word", &word]).output().unwrap()
        };
        let [hard, soft] = ["-n", "-Sn"].map(limited);
        is_over.store(true, Relaxed);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let refusal = text(&hard.stderr);
        assert!(!hard.status.success() && refusal.contains("open files, and the hard limit is 60"), "{refusal}");
        let (output, errors) = (text(&soft.stdout), text(&soft.stderr));
        if REFUSED.iter().any(|words| errors.contains(words)) {
            return println!("skipped: needs hardware watchpoints");
        }
        assert!(soft.status.success() && output.contains("Watched word"), "{output}{errors}");
    });
}
