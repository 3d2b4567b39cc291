//! Running `contend` where it could take all memory, or never end.

use super::patience::Patience;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Memory that `contend` may have, whatever it watches.
const MOST_KB: u64 = 400_000;
/// A hang is one at any speed of the machine.
const HANGS: Duration = Duration::from_secs(120);

/// Runs `contend` with the arguments of this command; a panic if it takes too much memory, or does not end. An allocation
/// far beyond the limit fails, so that the machine is not harmed.
pub fn run_within_limits(watching: &Command) -> Output {
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -d 1500000 && exec \"$@\"", "sh"])
        .arg(watching.get_program())
        .args(watching.get_args());
    limited.env("CONTEND_ARCHIVE", "").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = limited.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let peak = std::thread::spawn(move || {
        let mut peak = 0;
        while let Some(now) = std::fs::read_to_string(&status).ok().as_deref().and_then(peak_kb) {
            peak = now.max(peak);
            std::thread::sleep(Duration::from_millis(5));
        }
        peak
    });
    let output = child.wait_with_output_in(HANGS);
    let peak = peak.join().unwrap();
    assert!(peak < MOST_KB, "it took {peak} KB: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Returns the most memory that a process has had; a process that has ended has none.
fn peak_kb(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
