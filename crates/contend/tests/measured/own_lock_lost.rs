//! A user-supplied lock that passes its trial, and later blocks, spins forever, crashes or does not exclude.

use crate::command::objects::{can_compile, compile};
use crate::command::{read, results};
use serde_json::Value;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A good lock that does `WHAT` in `WHERE` the `LATER_AT`th time, but not in its trial: a trial's process has a
/// parent-death signal.
const SOURCE: &str = r#"
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

const uint32_t contend_lock_version = 1;
const size_t contend_lock_size = 4;
static long left, in_acquire;
static const char *what;

__attribute__((constructor)) static void begin(void) {
    int dies_with_parent = 0;
    prctl(PR_GET_PDEATHSIG, &dies_with_parent);
    left = dies_with_parent ? -1 : atol(getenv("LATER_AT"));
    in_acquire = !strcmp(getenv("WHERE"), "acquire");
    what = getenv("WHAT");
}

static void perhaps(void) {
    if (left < 0 || !strcmp(what, "opens") || __atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED))
        return;
    if (!strcmp(what, "sleeps"))
        for (;;)
            pause();
    if (!strcmp(what, "spins"))
        for (;;)
            __asm__ volatile("");
    if (!strcmp(what, "aborts"))
        abort();
    *(volatile int *)0 = 1;
}

int contend_lock_init(void *lock) { (void)lock; return 0; }
void contend_lock_acquire(void *lock) {
    if (in_acquire)
        perhaps();
    if (left >= 0 && !strcmp(what, "opens"))
        return;
    while (__atomic_exchange_n((int *)lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}
void contend_lock_release(void *lock) {
    if (!in_acquire)
        perhaps();
    __atomic_store_n((int *)lock, 0, __ATOMIC_RELEASE);
}
void contend_lock_destroy(void *lock) { (void)lock; }
"#;

struct Later(TempDir);

impl Later {
    fn make() -> Option<Self> {
        let later = Self(tempfile::tempdir().unwrap());
        can_compile().then(|| compile(later.0.path(), "later", SOURCE)).map(|_| later)
    }

    /// Runs `contend` with it and these arguments; a run that hangs is killed.
    fn run(&self, (what, place, at): (&str, &str, &str), before: &str, arguments: &[&str]) -> (Output, String) {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "120", env!("CARGO_BIN_EXE_contend"), before, "--lock"]);
        command.arg(format!("{},std", self.0.path().join("liblater.so").display())).args(arguments);
        command.env("CONTEND_ARCHIVE", "").env("WHAT", what).env("WHERE", place).env("LATER_AT", at);
        let output = command.output().unwrap();
        let message = String::from_utf8(output.stderr.clone()).unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{what} in {place}: {message}");
        (output, message)
    }
}

fn assert_has_words(message: &str, words: &[&str]) {
    words.iter().for_each(|word| assert!(message.contains(word), "{word:?} is not in\n{message}"));
}

fn rows_of<'a>(record: &'a Value, lock: &'a str) -> impl Iterator<Item = &'a Value> {
    results(record).iter().filter(move |row| row["lock"] == lock)
}

/// Often enough that each lock has had a repetition by then.
const AFTER_A_WHILE: &str = "100000";

/// Long enough for that on any machine: the fault ends the run.
const LONG: &str = "100";

#[test]
fn lock_that_blocks_in_the_run_is_named_with_its_function() {
    let Some(later) = Later::make() else { return };
    let (output, message) = later.run(("sleeps", "acquire", "1000"), "latency", &["--seconds", LONG]);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_has_words(&message, &["liblater.so blocks", "a thread did not return from contend_lock_acquire"]);
}

#[test]
fn results_before_a_lock_spins_forever_are_kept() {
    let Some(later) = Later::make() else { return };
    let flags = ["--seconds", LONG, "--threads", "2", "--format", "json"];
    let (output, message) = later.run(("spins", "release", AFTER_A_WHILE), "latency", &flags);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_has_words(&message, &["liblater.so blocks", "a thread did not return from contend_lock_release"]);
    let record = read(&output.stdout);
    assert!(rows_of(&record, "std").count() > 0 && rows_of(&record, "liblater.so").count() > 0);
    let warnings = record["warnings"].as_array().unwrap();
    let tells = |warning: &Value| warning["code"] == "left_out" && warning.to_string().contains("liblater.so blocks");
    assert!(warnings.iter().any(tells), "{warnings:?}");
}

#[test]
fn lock_that_crashes_in_the_run_is_named_with_results_kept() {
    let Some(later) = Later::make() else { return };
    let flags = ["--seconds", LONG, "--format", "json"];
    let (output, message) = later.run(("crashes", "release", AFTER_A_WHILE), "latency", &flags);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_has_words(&message, &["liblater.so crashes: contend_lock_release ended with SIGSEGV"]);
    assert!(rows_of(&read(&output.stdout), "std").count() > 0);
}

#[test]
fn throughput_names_a_lost_lock_and_keeps_the_results() {
    let Some(later) = Later::make() else { return };
    // Run lengths so long that the fault occurs, and so short that `std` had one before, on machines of any load.
    let lengths = ["20ms", "60ms", "200ms", "600ms", "2s"];
    for (what, words) in [("aborts", "crashes: contend_lock_acquire ended with SIGABRT"), ("sleeps", "blocks")] {
        let is_kept = |length: &&str| {
            let flags = ["--children", "2", "--run", length, "--hold", "1us", "--format", "json"];
            let (output, message) = later.run((what, "acquire", AFTER_A_WHILE), "throughput", &flags);
            if output.status.success() {
                return false;
            }
            assert_has_words(&message, &["liblater.so", words, "contend_lock_acquire"]);
            !output.stdout.is_empty() && rows_of(&read(&output.stdout), "std").count() > 0
        };
        assert!(lengths.iter().any(is_kept), "no run of {lengths:?} lost the lock and kept std");
    }
}

/// Returns the locks in a record's ranking.
fn ranked(record: &Value) -> Vec<&str> {
    record["ranking"].as_array().unwrap().iter().map(|rank| rank["lock"].as_str().unwrap()).collect()
}

#[test]
fn lock_that_loses_counts_is_not_ranked_and_results_are_kept() {
    let Some(later) = Later::make() else { return };
    let flags = ["--children", "2", "--run", "20ms", "--nonhold", "0", "--hold", "10us"];
    let run = |format: &[&str]| later.run(("opens", "acquire", "0"), "throughput", &[&flags[..], format].concat());
    let (output, message) = run(&["--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_has_words(&message, &["--lock liblater.so does not exclude: ", "counts lost"]);
    let record = read(&output.stdout);
    assert_eq!((ranked(&record), rows_of(&record, "std").count()), (vec!["std"], 1));
    let row = rows_of(&record, "liblater.so").next().unwrap();
    let [counted, lost] = ["counted_total", "lost_counts_total"].map(|field| row[field].as_u64().unwrap());
    let loops = row["throughput_per_s"].as_f64().unwrap() * 0.02 * row["iterations"].as_f64().unwrap();
    assert!(lost > 0 && counted as f64 > 0.5 * loops, "all runs count, not only those with timestamps: {row}");
    let text = String::from_utf8(run(&[]).0.stdout).unwrap();
    let table =
        text.lines().skip_while(|line| !line.contains("loops/s")).take_while(|line| !line.contains("counts lost"));
    assert!(!table.collect::<String>().contains("liblater.so"), "{text}");
    assert_has_words(&text, &["liblater.so does not exclude: ", "No count was lost in ", "does not prove"]);
}

#[test]
fn overlapping_critical_sections_are_seen_in_latency() {
    let Some(later) = Later::make() else { return };
    let flags = ["--threads", "2", "--placement", "spread", "--hold", "50us", "--seconds", "0.5", "--format", "json"];
    let (output, message) = later.run(("opens", "acquire", "0"), "latency", &flags);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_has_words(&message, &["liblater.so does not exclude: ", "critical sections overlapped another"]);
    let record = read(&output.stdout);
    assert!(ranked(&record).iter().all(|lock| *lock == "std"), "{:?}", ranked(&record));
}
