//! The recipe for CI that runs the base and a change in one job.

use crate::command::archive::has_git;
use crate::command::forge::{Forge, assert_ends, recipes};
use std::process::Command;

/// A clone in which the base and a change have a program that prints how many operations it made.
fn with_program(forge: &Forge, clone: &str, operations: &str) {
    let program = |forge: &Forge, operations: &str| {
        let text = format!("#!/bin/sh\necho {operations} ops\n");
        std::fs::write(forge.path(clone).join("bench.in"), text).unwrap();
        forge.git(clone, &["add", "bench.in"]);
        forge.git(clone, &["commit", "--quiet", "--allow-empty", "-m", operations]);
    };
    forge.clone(clone);
    forge.git(clone, &["config", "user.email", "a@b"]);
    program(forge, "1000");
    forge.git(clone, &["push", "--quiet", "--force", "origin", "HEAD:main"]);
    program(forge, operations);
}

#[test]
fn base_and_change_in_one_job_fail_only_for_a_regression() {
    if !has_git() {
        return;
    }
    let forge = Forge::new();
    let recipe = |clone: &str, build: &str| {
        let mut recipe = Command::new(recipes().join("contend-ab"));
        recipe.arg("./bench").current_dir(forge.path(clone)).env("CONTEND", env!("CARGO_BIN_EXE_contend"));
        recipe.env("CONTEND_ARCHIVE", "").env("CONTEND_AB_BUILD", build);
        recipe.env("CONTEND_AB_FLAGS", r"--metric 'ops=(\d+) ops' --higher-is-better --runs 8").output().unwrap()
    };
    let summary = |clone: &str| std::fs::read_to_string(forge.path(clone).join("contend-summary.md")).unwrap();
    const BUILD: &str = "cp bench.in bench; chmod +x bench";
    with_program(&forge, "slower", "950");
    assert_ends(&recipe("slower", BUILD), 3);
    assert!(summary("slower").starts_with("### contend ab: **a limit is exceeded**"), "{}", summary("slower"));
    with_program(&forge, "same", "1001");
    assert_ends(&recipe("same", BUILD), 0);
    assert!(summary("same").contains("no limit is exceeded"), "{}", summary("same"));
    with_program(&forge, "broken", "1001");
    assert_ends(&recipe("broken", "echo no compiler; exit 2"), 1);
    assert!(summary("broken").contains("no compiler"), "{}", summary("broken"));
}
