//! `contend latency --stop-above`: the first longer wait ends the run, and the output names the thread that had the CPU.

use crate::command::objects::{can_compile, compile};
use crate::command::{contend, read, results};
use serde_json::Value;
use std::process::{Child, Command};

/// A process with a known name that uses one CPU, and ends with the test.
struct Culprit(Child);

/// The loop is bounded: it ends a minute or two after a test that was killed.
const WANTS_THE_CPU: &str = "printf culprit > /proc/$$/comm; i=0; while [ $i -lt 100000000 ]; do i=$((i + 1)); done";

impl Culprit {
    fn on(cpu: &str) -> Self {
        Self(Command::new("taskset").args(["-c", cpu, "sh", "-c", WANTS_THE_CPU]).spawn().unwrap())
    }
}

impl Drop for Culprit {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the CPUs that the test may use.
fn cpus() -> Vec<String> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let of_range = |range: &str| {
        let ends: Vec<usize> = range.trim().split('-').map(|end| end.parse().unwrap()).collect();
        ends[0]..=ends[ends.len() - 1]
    };
    list.split(',').flat_map(of_range).map(|cpu| cpu.to_string()).collect()
}

/// Returns the record of a run that a wait of more than 2 ms ended; `None` if no counted wait was that long.
fn stopped(arguments: &[&str]) -> Option<Value> {
    let call = ["latency", "--lock", "std", "--stop-above", "2ms", "--seconds", "60", "--format", "json"];
    let output = contend(&[&call[..], arguments].concat());
    let message = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return None;
    }
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("longer than --stop-above"), "{message}");
    let record = read(&output.stdout);
    assert!(record["parameters"]["stopped"]["wait_us"].as_f64().unwrap() > 2_000.0, "{record}");
    Some(record)
}

/// Returns whether the output names the culprit, where the kernel's events can; it may name other threads too.
///
/// A thread that blocked until it got the lock, and had no CPU then, waited for the holder by its own events. Then the
/// timeline of the CPUs names the culprit.
fn names_the_culprit(arguments: &[&str], causes: &[&str]) -> bool {
    let Some(record) = stopped(arguments) else { return false };
    let wait = &record["parameters"]["stopped"];
    results(&record)[0]["evidence"] != "cpu_record"
        || causes.iter().any(|cause| wait["cause"] == *cause) && wait["stories"].to_string().contains("\"culprit\"")
}

/// Other programs may have the CPU at the first long wait of one run, but not at that of each of several.
#[test]
fn first_wait_beyond_the_limit_ends_the_run_with_culprit() {
    let cpus = cpus();
    let _culprit = Culprit::on(&cpus[0]);
    let alone = ["--hold", "0", "--placement", &cpus[0]];
    assert!((0..20).any(|_| names_the_culprit(&alone, &["switched out to culprit"])), "of a thread that is alone");
    let Some(other) = cpus.get(1) else { return println!("skipped: needs two CPUs") };
    let placement = format!("{},{other}", cpus[0]);
    let two = ["--threads", "2", "--placement", &placement];
    let causes = ["switched out to culprit", "waited for the holder"];
    assert!((0..20).any(|_| names_the_culprit(&two, &causes)), "of two, one of which has the lock");
}

/// A user-supplied lock that takes 100 ms after it was not used for 300 µs.
///
/// It does so at the beginning of a window, before any iteration counts, and when it is acquired the window is over.
const LATE: &str = r"
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
const uint32_t contend_lock_version = 1;
const size_t contend_lock_size = 4;
static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}
static int64_t last;
int contend_lock_init(void *lock) { (void)lock; last = 0; return 0; }
void contend_lock_acquire(void *lock) {
    while (__atomic_exchange_n((int *)lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
    int64_t then = now();
    if (then - last > 300000) while (now() - then < 100000000);
    last = now();
}
void contend_lock_release(void *lock) { __atomic_store_n((int *)lock, 0, __ATOMIC_RELEASE); }
void contend_lock_destroy(void *lock) { (void)lock; }
";

#[test]
fn early_wait_beyond_the_limit_is_recorded() {
    if !can_compile() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let object = compile(folder.path(), "late", LATE);
    let call = |more: &[&str]| {
        let limits = ["--stop-above", "50ms", "--seconds", "60"];
        contend(&[&["latency", "--lock", object.to_str().unwrap()], &limits[..], more].concat())
    };
    let output = call(&["--format", "json"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{message}");
    let record = read(&output.stdout);
    assert!(record["parameters"]["stopped"]["wait_us"].as_f64().unwrap() > 50_000.0, "{record}");
    // It is the only wait that can be counted.
    let locked = results(&record).iter().find(|row| row["operation"] == "lock").unwrap();
    assert!(locked["max_ns"].as_f64().unwrap() > 50e6, "{locked}");
    let text = call(&[]);
    assert_eq!(text.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&text.stdout).contains("Stopped at"));
}
