//! The restartable unlock and the biased lock in Spin's models (`models/restartable.pml`, `models/biased.pml`): all
//! interleavings of the steps of three threads.

use std::{path::Path, process::Command};

/// Returns the output of Spin's verifier for this model with these macros. A verifier that looks at all states is compiled to
/// be quick. One that ends at the first fault is not: compiling it would take longer.
fn verify(model: &str, macros: &[&str], level: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(model);
    let run = |command: &mut Command| {
        let ended = command.current_dir(&directory).output().unwrap();
        let output = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{command:?}: {output}");
        output
    };
    run(Command::new("spin").arg("-a").args(macros.iter().map(|name| format!("-D{name}"))).arg(model));
    run(Command::new("cc").args([level, "-w", "-DCOLLAPSE", "-DSAFETY", "-DVECTORSZ=2048", "-o", "pan", "pan.c"]));
    run(Command::new("./pan").args(["-m1000000", "-w22"]))
}

fn has_tools() -> bool {
    let has = |tool: &str, flag: &str| Command::new(tool).arg(flag).output().is_ok();
    has("spin", "-V") && has("cc", "--version")
}

#[test]
fn restartable_model_loses_no_wake_up_nor_uses_freed_memory() {
    if !has_tools() {
        println!("skipped: needs spin");
        return;
    }
    let output = verify("restartable.pml", &["THREADS=3", "ROUNDS=2"], "-O2");
    assert!(output.contains("errors: 0") && !output.contains("truncated"), "{output}");
    println!(
        "{}",
        output.lines().filter(|line| line.contains("states") || line.contains("errors")).collect::<String>()
    );
}

#[test]
fn each_fault_of_the_pair_is_found() {
    if !has_tools() {
        println!("skipped: needs spin");
        return;
    }
    for fault in ["NO_FENCE", "FENCE_FIRST", "STORE_FIRST", "LOOK_AFTER"] {
        let output = verify("restartable.pml", &["THREADS=3", "ROUNDS=2", fault], "-O0");
        assert!(output.contains("errors: 1"), "{fault} was not found: {output}");
    }
}

#[test]
fn biased_model_excludes_and_does_not_use_freed_memory() {
    if !has_tools() {
        println!("skipped: needs spin");
        return;
    }
    for macros in [["THREADS=2", "ROUNDS=3"], ["THREADS=3", "ROUNDS=1"]] {
        let output = verify("biased.pml", &macros, "-O2");
        assert!(output.contains("errors: 0") && !output.contains("truncated"), "{output}");
        let lines = output.lines().filter(|line| line.contains("states") || line.contains("errors"));
        println!("{macros:?}: {}", lines.collect::<String>());
    }
}

#[test]
fn each_fault_of_the_biased_lock_is_found() {
    if !has_tools() {
        println!("skipped: needs spin");
        return;
    }
    for fault in ["NO_FENCE", "FENCE_FIRST", "STORE_FIRST", "LOOK_AFTER"] {
        let output = verify("biased.pml", &["THREADS=2", "ROUNDS=2", fault], "-O0");
        assert!(output.contains("errors: 1"), "{fault} was not found: {output}");
    }
}
