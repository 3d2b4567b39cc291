//! Concurrent writers of an archive, and the remains of one that is killed.

use crate::command::archive::has_git;
use crate::command::executable;
use crate::command::place::{Place, RUN, kill, waited_for};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Starts a run that creates the archive, and whose Git does nothing until it is killed.
fn run_that_waits(place: &Place) -> (Child, i32) {
    let (programs, started) = (place.beside("programs"), place.beside("started"));
    let _ = fs::remove_file(&started);
    fs::create_dir_all(&programs).unwrap();
    executable(&programs.join("git"), format!("#!/bin/sh\necho $$ > {}\nexec sleep 600\n", started.display()));
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let run = place.command(RUN).env("PATH", path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    (run, waited_for(|| fs::read_to_string(&started).ok()?.trim().parse().ok()))
}

#[test]
fn only_drafts_of_killed_creators_are_removed() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    let (mut run, git) = run_that_waits(&place);
    run.kill().unwrap();
    run.wait().unwrap();
    let drafts = || place.left().into_iter().filter(|path| path.contains("/.contend-archive-")).count();
    // The same name, and other content.
    let diary = place.beside(".contend-archive-diary1");
    fs::create_dir(&diary).unwrap();
    fs::write(diary.join("diary"), "mine").unwrap();
    place.keep();
    assert_eq!(drafts(), 2, "its Git lives");
    kill(git);
    waited_for(|| {
        place.keep();
        (drafts() == 1).then_some(())
    });
    assert!(diary.join("diary").exists());
}

#[test]
fn files_of_a_killed_pull_are_removed() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    for name in ["incoming-abc123", "objects/pack"] {
        fs::create_dir_all(place.archive.join(name).join("tmp_folder")).unwrap();
    }
    fs::create_dir_all(place.archive.join("objects/ab")).unwrap();
    fs::write(place.archive.join("objects/ab/tmp_obj_x"), "half").unwrap();
    place.keep();
    assert_eq!(place.left(), [""; 0]);
    place.stdout(&["history", "verify"]);
}

/// Starts a Git that has locked the reference to a record in an archive, and waits for a signal file to continue.
fn git_that_holds(place: &Place, id: &str) -> (Child, PathBuf) {
    let some = place.ids().pop().unwrap();
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(&place.archive).args(["update-ref", "--stdin"]);
    let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let script = format!("start\ncreate refs/records/{id} {some}\nprepare\n");
    child.stdin.as_mut().unwrap().write_all(script.as_bytes()).unwrap();
    let mut answers = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(answers.any(|line| line.unwrap() == "prepare: ok"));
    let lock = place.archive.join(format!("refs/records/{id}.lock"));
    assert!(lock.exists());
    (child, lock)
}

#[test]
fn lock_of_a_killed_git_blocks_no_pull() {
    if !has_git() {
        return;
    }
    let (local, remote) = (Place::new(), Place::new());
    local.keep();
    let remote_record = remote.keep();
    let (mut git, lock) = git_that_holds(&local, &remote_record);
    git.kill().unwrap();
    git.wait().unwrap();
    assert!(lock.exists());
    let remote = remote.archive.to_str().unwrap();
    assert!(local.stdout(&["history", "pull", remote]).contains("1 record fetched; 2 in all"));
    assert!(!lock.exists() && local.ids().contains(&remote_record));
}

#[test]
fn lock_of_a_running_git_is_not_removed() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    place.keep();
    let id = "1".repeat(40);
    let (mut git, lock) = git_that_holds(&place, &id);
    place.keep();
    assert!(lock.exists());
    git.stdin.take().unwrap().write_all(b"commit\n").unwrap();
    assert!(git.wait().unwrap().success() && !lock.exists());
    assert!(place.archive.join("refs/records").join(id).exists());
}

/// Every lock that Git may leave in a bare repository.
#[test]
fn stale_locks_block_no_command_and_no_packing() {
    if !has_git() {
        return;
    }
    let (place, hub) = (Place::new(), Place::new());
    hub.keep();
    // Two packs are one too many now.
    for _ in 0..2 {
        place.keep();
        place.git(&["repack", "-q"], &[]);
    }
    place.git(&["config", "gc.autoPackLimit", "1"], &[]);
    let locks = [
        "HEAD.lock",
        "packed-refs.lock",
        "packed-refs.new",
        "shallow.lock",
        "config.lock",
        "gc.pid",
        "gc.pid.lock",
        "objects/maintenance.lock",
        "objects/info/commit-graph.lock",
        "objects/info/packs.lock",
    ];
    let plant = || locks.iter().for_each(|lock| fs::write(place.archive.join(lock), "").unwrap());
    let remote = hub.archive.to_str().unwrap();
    for arguments in [&["history", "verify"][..], &["history", "push", remote], &["history", "pull", remote]] {
        plant();
        place.stdout(arguments);
    }
    plant();
    place.keep();
    let left: Vec<&&str> = locks.iter().filter(|lock| place.archive.join(lock).exists()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(fs::read_to_string(place.archive.join("packed-refs")).unwrap().contains("refs/records/"));
    place.stdout(&["history", "verify"]);
}

/// A Git that outlives the `contend` that started it still has its claim.
#[test]
fn lock_of_an_orphaned_git_is_not_removed() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    place.keep();
    // The script is not called git, so that only the claim shows it: a script in place of ssh, which waits while it can
    // read.
    let mut pull = place.command(&["history", "pull", "somebody@nowhere.invalid:archive.git"]);
    let script = place.archive.with_file_name("ssh");
    let (started, lock) = (place.archive.with_file_name("started"), place.archive.join("packed-refs.lock"));
    executable(&script, format!("#!/bin/sh\necho $$ > {}\nexec sleep 600 >/dev/null 2>&1\n", started.display()));
    let mut pull = pull.env("GIT_SSH", &script).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let orphan = waited_for(|| fs::read_to_string(&started).ok()?.trim().parse().ok());
    let gits = fs::read_to_string(format!("/proc/{0}/task/{0}/children", pull.id())).unwrap();
    pull.kill().unwrap();
    pull.wait().unwrap();
    gits.split_whitespace().for_each(|pid| kill(pid.parse().unwrap()));
    fs::write(&lock, "").unwrap();
    place.keep();
    assert!(lock.exists(), "the script lives");
    kill(orphan);
    waited_for(|| {
        place.keep();
        (!lock.exists()).then_some(())
    });
}

#[test]
fn archive_is_created_by_one_of_many_concurrent_runs() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    let ids: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| place.keep())).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let found = place.ids();
    assert!(ids.iter().all(|id| found.contains(id)) && found.len() == 4);
    let debris = fs::read_dir(place.archive.parent().unwrap_or(Path::new("/"))).unwrap().count();
    assert_eq!(debris, 1, "only the archive is there");
}
