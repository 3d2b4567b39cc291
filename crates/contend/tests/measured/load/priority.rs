//! Spinners with a priority that needs a privilege.

use super::{rows, warnings};
use crate::command::{contend, read};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Without privilege the load is measured anyway, and the record has a warning.
#[test]
fn refused_priority_is_a_warning_and_load_is_measured() {
    const NOBODY: u32 = 65_534;
    for (priority, code) in [("-5", "priority_refused"), ("fifo", "no_realtime_priority")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.env("CONTEND_ARCHIVE", "");
        command.args(["load", "--priority", priority, "--seconds", "0.5", "--format", "json"]).uid(NOBODY);
        let Ok(output) = command.output() else {
            return println!("skipped: needs root, to become a user without privileges");
        };
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(2) {
            return println!("skipped: needs two CPUs");
        }
        let record = read(&output.stdout);
        assert!(warnings(&record).contains(&code), "{stderr}");
        assert!(rows(&record, "total").iter().all(|total| total["priority"] == "idle"));
        let warning_text = record["warnings"].to_string();
        assert!(warning_text.contains("CAP_SYS_NICE") || warning_text.contains("cap_sys_nice"), "{warning_text}");
    }
}

#[test]
fn realtime_spinner_sleeps_and_spares_one_cpu() {
    let output = contend(&["load", "--priority", "fifo", "--seconds", "1", "--format", "json"]);
    if output.status.code() == Some(2) {
        return println!("skipped: needs two CPUs");
    }
    let record = read(&output.stdout);
    if warnings(&record).contains(&"no_realtime_priority") {
        return println!("skipped: needs CAP_SYS_NICE");
    }
    let online = instruments::cpus::online().unwrap();
    let watched = record["parameters"]["cpus"].as_array().unwrap().len();
    assert!(watched < online.len(), "it took all CPUs");
    assert!(rows(&record, "total").iter().all(|total| total["priority"] == "fifo:1"));
}
