//! `contend latency --stop-above`: the first wait that is longer ends it, and is told with who had the CPU.

mod command;

use command::{contend, read, results};
use serde_json::Value;
use std::process::{Child, Command};

/// A process of that name that wants one CPU, and ends with the test.
struct Culprit(Child);

/// Bounded: it ends by itself a minute or two after a test that was killed.
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

/// The CPUs that the test may use.
fn cpus() -> Vec<String> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let of_range = |range: &str| {
        let ends: Vec<usize> = range.trim().split('-').map(|end| end.parse().unwrap()).collect();
        ends[0]..=ends[ends.len() - 1]
    };
    list.split(',').flat_map(of_range).map(|cpu| cpu.to_string()).collect()
}

/// The record of a run that a wait of more than 2 ms ended.
fn stopped(arguments: &[&str]) -> Value {
    let call = ["latency", "--lock", "std", "--stop-above", "2ms", "--seconds", "60", "--format", "json"];
    let output = contend(&[&call[..], arguments].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("longer than --stop-above"), "{said}");
    let record = read(&output.stdout);
    assert!(record["parameters"]["stopped"]["wait_us"].as_f64().unwrap() > 2_000.0, "{record}");
    record
}

/// Whether it is told of the culprit, wherever there is a record of the kernel's that could; others may be there too.
/// Whoever slept until it was its turn, and had no CPU then, waited for the holder by its own record: then it is the
/// story of the CPUs that names the culprit.
fn names_the_culprit(arguments: &[&str], causes: &[&str]) -> bool {
    let record = stopped(arguments);
    let wait = &record["parameters"]["stopped"];
    results(&record)[0]["evidence"] != "cpu_record"
        || causes.iter().any(|cause| wait["cause"] == *cause) && wait["stories"].to_string().contains("\"culprit\"")
}

#[test]
fn the_first_wait_beyond_the_limit_ends_it_and_the_culprit_is_named() {
    let cpus = cpus();
    let _culprit = Culprit::on(&cpus[0]);
    let alone = ["--hold", "0", "--placement", &cpus[0]];
    assert!((0..5).any(|_| names_the_culprit(&alone, &["switched out to culprit"])), "of a thread that is alone");
    let Some(other) = cpus.get(1) else { return println!("skipped: needs two CPUs") };
    let placement = format!("{},{other}", cpus[0]);
    let two = ["--threads", "2", "--placement", &placement];
    let causes = ["switched out to culprit", "waited for the holder"];
    assert!((0..5).any(|_| names_the_culprit(&two, &causes)), "of two, one of which has the lock");
}

#[test]
fn the_story_is_at_the_end_of_the_page() {
    let cpus = cpus();
    let _culprit = Culprit::on(&cpus[0]);
    let call = ["latency", "--lock", "std", "--stop-above", "2ms", "--seconds", "60", "--threads", "2", "--quiet"];
    let output = contend(&[&call[..], &["--placement", &cpus[0]]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let story = &text[text.find("Stopped at").expect("it is told")..];
    assert!(story.contains("had the lock") && story.contains(&format!("CPU {}", cpus[0])), "{story}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_limit_that_everything_exceeds_is_refused() {
    let output = contend(&["latency", "--stop-above", "500ns"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("at least 1us"));
}

#[test]
fn throughput_says_why_it_cannot_and_what_can() {
    let output = contend(&["throughput", "--stop-above", "1ms"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`contend latency --stop-above`"));
    assert!(!String::from_utf8_lossy(&contend(&["throughput", "--help"]).stdout).contains("stop-above"));
}
