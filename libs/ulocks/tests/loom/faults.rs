//! The pair of sequence and fence with one mistake, in a separate process: a model must find it.

use std::{env, process::Command};
use ulocks::restartable::{self, Fault};

const FAULT: &str = "ULOCKS_LOOM_FAULT";
const FAULTS: [Fault; 3] = [Fault::NoFence, Fault::FenceBeforeMark, Fault::StoreBeforeCompare];

/// Asserts that these models fail with each mistake; `test` is the name of the calling test.
pub fn each_is_found(test: &str, models: fn()) {
    if let Ok(fault) = env::var(FAULT) {
        restartable::break_by(FAULTS[fault.parse::<usize>().unwrap()]);
        models();
        return;
    }
    for (number, fault) in FAULTS.iter().enumerate() {
        let ended = Command::new(env::current_exe().unwrap())
            .args(["--exact", test, "--test-threads=1"])
            .env(FAULT, number.to_string())
            .output()
            .unwrap();
        assert!(!ended.status.success(), "{fault:?} was not found");
        let output = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
        let is_found =
            output.contains("deadlock") || output.contains("Causality violation") || output.contains("was already");
        assert!(is_found, "{fault:?}: {output}");
    }
}
