//! Builds of two revisions of a Git repository.

use super::place;
use crate::command::archive::has_git;
use crate::command::{heard, read};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

fn git(directory: &str, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(directory).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
    let output = git.output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A repository whose program prints 100 at the tag `old`, and 130 at HEAD.
fn repository() -> (tempfile::TempDir, String) {
    let (directory, path) = place();
    git(&path, &["init", "--quiet"]);
    for (number, tag) in [(100, "old"), (130, "new")] {
        fs::write(Path::new(&path).join("prog.in"), format!("#!/bin/sh\necho {number}\n")).unwrap();
        git(&path, &["add", "."]);
        git(&path, &["commit", "--quiet", "-m", tag]);
        git(&path, &["tag", tag]);
    }
    (directory, path)
}

fn command(path: &str, temporary: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env("CONTEND_ARCHIVE", "").env("TMPDIR", temporary).current_dir(path);
    command.args(["ab", "--quiet", "--revisions", "old,new", "--metric", "n=(\\d+)", "--runs", "6"]).args(arguments);
    command
}

/// Nothing of the worktrees is left.
fn assert_clean(path: &str, temporary: &str) {
    assert_eq!(git(path, &["worktree", "list"]).lines().count(), 1);
    let left: Vec<_> = fs::read_dir(temporary).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const BUILD: &str = "cp prog.in prog && chmod +x prog";

#[test]
fn each_revision_is_built_and_run_in_its_worktree() {
    if !has_git() {
        return;
    }
    let ((_repository, path), (_temporary, temporary)) = (repository(), place());
    let output = command(&path, &temporary, &["--build", BUILD, "./prog", "--format", "json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record = read(&output.stdout);
    let new = record["results"].as_array().unwrap().iter().find(|row| row["side"] == "./prog @ new").unwrap();
    assert_eq!((&new["metric"], &new["ratio"], &new["verdict"]), (&"n".into(), &1.3.into(), &"worse".into()));
    assert_eq!(record["parameters"]["sides"][1]["commit"], git(&path, &["rev-parse", "new"]).trim());
    assert_clean(&path, &temporary);
}

#[test]
fn several_builds_of_a_revision_alternate_with_their_seeds() {
    if !has_git() {
        return;
    }
    let ((_repository, path), (_temporary, temporary)) = (repository(), place());
    let build = "printf '#!/bin/sh\\necho %s\\n' $CONTEND_BUILD_SEED > prog; chmod +x prog";
    let flags = ["--build", build, "--builds", "2", "--seed", "7", "./prog", "--format", "json"];
    let output = command(&path, &temporary, &flags).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let values = &read(&output.stdout)["results"][0]["values"];
    assert_eq!(*values, serde_json::json!([7.0, 8.0, 7.0, 8.0, 7.0, 8.0]));
    assert_clean(&path, &temporary);
}

#[test]
fn a_failing_build_and_an_unknown_revision_leave_nothing() {
    if !has_git() {
        return;
    }
    let ((_repository, path), (_temporary, temporary)) = (repository(), place());
    let failing = command(&path, &temporary, &["--build", "echo broken; exit 2", "./prog"]).output().unwrap();
    assert_eq!(failing.status.code(), Some(1));
    let message = stderr(&failing);
    assert!(message.contains("--build at old ended with status 2") && message.contains("\"broken\""), "{message}");
    assert_clean(&path, &temporary);

    let unbuilt = command(&path, &temporary, &["./prog"]).output().unwrap();
    assert_eq!(unbuilt.status.code(), Some(2), "{}", stderr(&unbuilt));
    assert_clean(&path, &temporary);

    let unknown = command(&path, &temporary, &["--revisions", "nonesuch", "./prog"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("--revisions nonesuch: unknown revision"), "{}", stderr(&unknown));
    let outside = command(&temporary, &temporary, &["./prog"]).env("GIT_CEILING_DIRECTORIES", "/").output().unwrap();
    assert_eq!(outside.status.code(), Some(2));
    assert!(stderr(&outside).contains("--revisions: not in a Git repository"), "{}", stderr(&outside));
}

#[test]
fn a_signal_during_a_build_leaves_nothing() {
    if !has_git() {
        return;
    }
    heard::interrupts();
    let ((_repository, path), (_temporary, temporary), (_signal, signal)) = (repository(), place(), place());
    let build = format!("touch {signal}/began; sleep 100");
    let mut child = command(&path, &temporary, &["--build", &build, "./prog"]).spawn().unwrap();
    for _ in 0..600 {
        if fs::exists(format!("{signal}/began")).unwrap() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_clean(&path, &temporary);
}
