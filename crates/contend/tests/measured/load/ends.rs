//! However an endless run is ended, it leaves its totals, or at least no process.

use super::{measuring, signal};
use crate::command;
use rustix::process::Signal;
use std::io::Read;
use std::time::Duration;

#[test]
fn endless_run_ends_on_a_signal_with_its_totals() {
    command::heard::interrupts();
    let (mut child, mut lines) = measuring(&["load", "--interval", "100ms"]);
    signal(&child, Signal::INT);
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(rest.contains("intervals; priority of the spinner: idle"), "{rest}");
}

#[test]
fn closed_reader_ends_an_endless_run() {
    let (mut child, lines) = measuring(&["load", "--interval", "100ms"]);
    drop(lines);
    for _ in 0..600 {
        if child.try_wait().unwrap().is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    panic!("it still measures for nobody");
}

/// Whatever ends the run, no spinner is left.
#[test]
fn a_killed_meter_leaves_no_process() {
    let (mut child, _lines) = measuring(&["load", "--interval", "100ms"]);
    let children = children_of(child.id());
    assert!(!children.is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let lives = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
    };
    for _ in 0..600 {
        if !children.iter().any(|&pid| lives(pid)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{children:?} are left");
}

fn children_of(parent: u32) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        fields.split_whitespace().nth(1).and_then(|field| field.parse().ok()) == Some(parent)
    })
    .collect()
}
