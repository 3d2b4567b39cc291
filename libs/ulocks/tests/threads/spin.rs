//! The restartable unlock and the biased lock in Spin's models (`models/restartable.pml`, `models/biased.pml`): all
//! interleavings of the steps of three threads.

use std::{path::Path, process::Command};

/// What Spin's verifier said of this model with these macros.
fn verify(model: &str, macros: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(model);
    let run = |command: &mut Command| {
        let ended = command.current_dir(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{command:?}: {said}");
        said
    };
    run(Command::new("spin").arg("-a").args(macros.iter().map(|name| format!("-D{name}"))).arg(model));
    run(Command::new("cc").args(["-O2", "-w", "-DCOLLAPSE", "-DSAFETY", "-DVECTORSZ=2048", "-o", "pan", "pan.c"]));
    run(Command::new("./pan").args(["-m1000000", "-w22"]))
}

fn has_tools() -> bool {
    let has = |tool: &str, flag: &str| Command::new(tool).arg(flag).output().is_ok();
    has("spin", "-V") && has("cc", "--version")
}

#[test]
fn no_wake_up_is_lost_and_nothing_is_touched_after_the_last_unlock() {
    if !has_tools() {
        println!("skipped: needs spin");
        return;
    }
    let said = verify("restartable.pml", &["THREADS=3", "ROUNDS=2"]);
    assert!(said.contains("errors: 0") && !said.contains("truncated"), "{said}");
    println!("{}", said.lines().filter(|line| line.contains("states") || line.contains("errors")).collect::<String>());
}

#[test]
fn the_pair_made_wrong_is_found() {
    if !has_tools() {
        println!("skipped: needs spin");
        return;
    }
    for fault in ["NO_FENCE", "FENCE_FIRST", "STORE_FIRST", "LOOK_AFTER"] {
        let said = verify("restartable.pml", &["THREADS=3", "ROUNDS=2", fault]);
        assert!(said.contains("errors: 1"), "{fault} was not found: {said}");
    }
}

#[test]
fn a_biased_lock_excludes_and_is_not_touched_after_the_last_unlock() {
    if !has_tools() {
        println!("skipped: needs spin");
        return;
    }
    for macros in [["THREADS=2", "ROUNDS=3"], ["THREADS=3", "ROUNDS=1"]] {
        let said = verify("biased.pml", &macros);
        assert!(said.contains("errors: 0") && !said.contains("truncated"), "{said}");
        let lines = said.lines().filter(|line| line.contains("states") || line.contains("errors"));
        println!("{macros:?}: {}", lines.collect::<String>());
    }
}

#[test]
fn a_biased_lock_made_wrong_is_found() {
    if !has_tools() {
        println!("skipped: needs spin");
        return;
    }
    for fault in ["NO_FENCE", "FENCE_FIRST", "STORE_FIRST", "LOOK_AFTER"] {
        let said = verify("biased.pml", &["THREADS=2", "ROUNDS=2", fault]);
        assert!(said.contains("errors: 1"), "{fault} was not found: {said}");
    }
}
