//! For tests that a night takes no more memory than half of it: what a test needs that runs alone in a process.

use std::process::Command;

/// Returns the memory of the process.
pub fn resident_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as u64 / 1024
}

/// Runs the ignored test of this path in a separate process: other tests would be counted with it.
pub fn passes_alone(test: &str) {
    let mut alone = Command::new(std::env::current_exe().unwrap());
    let output = alone.args(["--exact", test, "--ignored", "--nocapture"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
