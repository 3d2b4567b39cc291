//! Files and processes of the user: `contend` changes no other than its own, and leaves none behind.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A directory for a test, with an own directory for temporary files.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("tmp")).unwrap();
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn contend(&self, folder: &str, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.args(words).current_dir(self.path(folder)).stdin(Stdio::null());
        command.env("CONTEND_ARCHIVE", "").env("TMPDIR", self.path("tmp"));
        command
    }

    fn run(&self, folder: &str, words: &[&str]) -> Output {
        self.contend(folder, words).output().unwrap()
    }

    fn git(&self, folder: &str, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(self.path(folder)).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
        let output = git.output().unwrap();
        assert!(output.status.success(), "git {words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Creates a repository of two commits.
    fn repository(&self) {
        self.git(".", &["init", "--quiet", "repository"]);
        for commit in ["first", "second"] {
            fs::write(self.path("repository/file"), commit).unwrap();
            self.git("repository", &["add", "file"]);
            self.git("repository", &["commit", "--quiet", "-m", commit]);
        }
    }

    fn temporary(&self) -> Vec<String> {
        names(&self.path("tmp"))
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

/// Waits until it is so; fails after a time that suffices on any machine.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The number of processes that sleep so long.
fn sleepers(seconds: &str) -> usize {
    let numbers = names(Path::new("/proc")).into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let is_one = |pid: &String| {
        let words = text(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
        let words: Vec<&str> = words.split_terminator('\0').collect();
        words.len() == 2 && words[0].rsplit('/').next() == Some("sleep") && words[1] == seconds
    };
    numbers.filter(is_one).count()
}

/// A number of seconds that no other process sleeps.
fn own_sleep(number: u32) -> String {
    format!("3{:03}.{:07}", number, std::process::id())
}

fn has_no(program: &str) -> bool {
    let is_missing = Command::new(program).arg("--version").output().is_err();
    if is_missing {
        println!("skipped: needs {program}");
    }
    is_missing
}

#[test]
fn a_worktree_that_is_not_there_keeps_its_state() {
    if has_no("git") {
        return;
    }
    let place = Place::new();
    place.repository();
    place.git("repository", &["worktree", "add", "--quiet", "../disk", "-b", "feature"]);
    fs::write(place.path("disk/new"), "work").unwrap();
    place.git("disk", &["add", "new"]);
    fs::rename(place.path("disk"), place.path("elsewhere")).unwrap();
    let output = place.run("repository", &["ab", "--revisions", "HEAD~1,HEAD", "true", "--runs", "1", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    fs::rename(place.path("elsewhere"), place.path("disk")).unwrap();
    assert_eq!(place.git("disk", &["status", "--porcelain"]), "A  new\n");
    assert_eq!(place.git("repository", &["worktree", "list"]).lines().count(), 2);
    assert!(place.temporary().is_empty(), "{:?}", place.temporary());
}

#[test]
fn worktrees_of_a_killed_comparison_are_removed_by_the_next() {
    if has_no("git") {
        return;
    }
    let place = Place::new();
    place.repository();
    let begin = |command: &str| {
        let words = ["ab", "--revisions", "HEAD~1,HEAD", command, "--runs", "1", "--quiet"];
        place.contend("repository", &words).stdout(Stdio::null()).spawn().unwrap()
    };
    let (killed, living) = (own_sleep(101), own_sleep(102));
    let mut first = begin(&format!("sleep {killed}"));
    until("the first run", || sleepers(&killed) > 0);
    let mut other = begin(&format!("sleep {living}"));
    until("the run that goes on", || sleepers(&living) > 0);
    signal(&first, Signal::KILL);
    first.wait().unwrap();
    assert_eq!(place.git("repository", &["worktree", "list"]).lines().count(), 5);
    assert!(begin("true").wait().unwrap().success());
    // Those of the run that goes on are there still.
    assert_eq!(place.git("repository", &["worktree", "list"]).lines().count(), 3);
    signal(&other, Signal::TERM);
    other.wait().unwrap();
    assert_eq!(place.git("repository", &["worktree", "list"]).lines().count(), 1);
    assert!(place.temporary().is_empty(), "{:?}", place.temporary());
}

#[test]
fn the_index_of_a_hook_is_not_changed() {
    if has_no("git") {
        return;
    }
    let place = Place::new();
    place.repository();
    let index = place.path("repository/.git/index");
    let before = fs::read(&index).unwrap();
    let words =
        ["ab", "--revisions", "HEAD~1,HEAD", "--build", "git read-tree --empty", "true", "--runs", "1", "--quiet"];
    let output =
        place.contend("repository", &words).env("GIT_INDEX_FILE", &index).env("GIT_DIR", ".git").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(before == fs::read(&index).unwrap());
}

#[test]
fn all_processes_of_a_run_end_with_a_killed_comparison() {
    let place = Place::new();
    let nap = own_sleep(103);
    // A child, a child in its own session whose parent has ended, and the program itself.
    let program = format!("sh -c 'sleep {nap} & (setsid sleep {nap} &) ; sleep {nap}; wait'");
    for words in [
        vec!["ab", "--shell", &program, "true", "--quiet"],
        vec!["ab", "true", "false", "--prepare", &program, "--quiet"],
    ] {
        let mut contend = place.contend(".", &words).stdout(Stdio::null()).spawn().unwrap();
        until("three processes", || sleepers(&nap) == 3);
        signal(&contend, Signal::KILL);
        contend.wait().unwrap();
        until("the end of all", || sleepers(&nap) == 0);
    }
    assert!(place.temporary().is_empty(), "{:?}", place.temporary());
}

#[test]
fn an_interrupted_run_may_tidy_up() {
    let place = Place::new();
    let program = "trap 'echo ended >ended; exit' TERM; touch begun; while :; do sleep 0.05; done";
    let mut contend = place.contend(".", &["ab", "--shell", program, "true", "--quiet"]).spawn().unwrap();
    until("the run", || place.path("begun").exists());
    signal(&contend, Signal::TERM);
    assert_eq!(contend.wait().unwrap().code(), Some(130));
    assert!(place.path("ended").exists());
}

#[test]
fn endless_output_has_a_bound() {
    let place = Place::new();
    let began = Instant::now();
    let output = place.run(".", &["ab", "yes", "true", "--timeout", "1s", "--quiet"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(output.stderr.len() < 4096 && began.elapsed() < Duration::from_secs(60));
    assert!(place.temporary().is_empty(), "{:?}", place.temporary());
}

#[test]
fn output_after_an_emptied_stream_is_kept() {
    let place = Place::new();
    let program = "echo tps=5; echo warning >/dev/stderr";
    let words = ["ab", "--shell", program, program, "--metric", "tps=tps=([0-9]+)", "--runs", "1", "--quiet"];
    let output = place.run(".", &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn traces_that_begin_together_keep_all_of_their_files() {
    let place = Place::new();
    let words = ["trace", "--every", "1s", "--output", "records", "--format", "json", "--quiet", "--", "sleep", "3.5"];
    let mut traces: Vec<Child> = (0..3).map(|_| place.contend(".", &words).spawn().unwrap()).collect();
    let statuses: Vec<_> = traces.iter_mut().map(|trace| trace.wait().unwrap().code()).collect();
    assert_eq!(statuses, [Some(0); 3]);
    let found = names(&place.path("records"));
    let runs: std::collections::BTreeSet<&str> = found.iter().map(|name| name.rsplit_once('-').unwrap().0).collect();
    assert_eq!(runs.len(), 3, "{found:?}");
    for run in runs {
        let of_run = found.iter().filter(|name| name.rsplit_once('-').unwrap().0 == run).count();
        assert!(of_run >= 2, "{found:?}");
    }
}

#[test]
fn another_users_link_in_a_directory_of_all_is_not_followed() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    let place = Place::new();
    let (shared, link) = (place.path("shared"), place.path("shared/out.json"));
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    fs::write(place.path("victim"), "precious").unwrap();
    symlink("../victim", &link).unwrap();
    let words =
        ["model", "frames", "--frame", "1ms", "--quantum", "1ms", "--format", "json", "--output", "shared/out.json"];
    assert!(place.run(".", &words).status.success(), "an own link is followed");
    fs::write(place.path("victim"), "precious").unwrap();
    std::os::unix::fs::lchown(&link, Some(65534), Some(65534)).unwrap();
    assert_eq!(place.run(".", &words).status.code(), Some(1));
    assert_eq!(fs::read_to_string(place.path("victim")).unwrap(), "precious");
    // Nor is another user's file replaced, whose mode the new one would have.
    fs::remove_file(&link).unwrap();
    fs::write(&link, "bait").unwrap();
    std::os::unix::fs::chown(&link, Some(65534), Some(65534)).unwrap();
    assert_eq!(place.run(".", &words).status.code(), Some(1));
    assert_eq!(fs::read_to_string(&link).unwrap(), "bait");
}

#[test]
fn streams_pipes_and_devices_are_written_in_place() {
    let place = Place::new();
    let words = |output: &'static str| {
        ["model", "frames", "--frame", "1ms", "--quantum", "1ms", "--format", "json", "--output", output]
    };
    let printed = place.run(".", &words("/dev/stdout"));
    assert!(printed.status.success() && printed.stdout.starts_with(b"{\"schema\""), "{}", text(&printed.stderr));
    assert_eq!(place.run(".", &words("/dev/full")).status.code(), Some(1));
    assert!(Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    let reader = Command::new("cat").arg(place.path("pipe")).stdout(Stdio::piped()).spawn().unwrap();
    assert!(place.run(".", &words("pipe")).status.success());
    assert!(reader.wait_with_output().unwrap().stdout.starts_with(b"{\"schema\""));
    fs::write(place.path("one"), "").unwrap();
    fs::hard_link(place.path("one"), place.path("two")).unwrap();
    assert!(place.run(".", &words("one")).status.success());
    assert!(fs::read_to_string(place.path("two")).unwrap().starts_with("{\"schema\""), "both names are of one file");
}

#[test]
fn helpers_are_not_taken_from_the_working_directory() {
    let place = Place::new();
    for name in ["git", "gzip", "sh", "cc", "debuginfod-find"] {
        crate::command::executable(
            &place.path(name),
            format!("#!/bin/sh\necho {name} >>{}\nexit 1\n", place.path("taken").display()),
        );
    }
    place.git(".", &["init", "--quiet", "."]);
    let path = format!(".::{}", std::env::var("PATH").unwrap());
    for words in [
        &["clock", "--seconds", "0.2", "--quiet"][..],
        &["doctor"],
        &["ab", "--shell", "true", "true", "--prepare", "true", "--runs", "1", "--quiet"],
        &["ab", "--revisions", "HEAD,HEAD", "true", "--runs", "1", "--quiet"],
        &["ring", "--contestant", "c", "--seconds", "0.2", "--quiet"],
        &["history"],
    ] {
        let _ =
            place.contend(".", words).env("PATH", &path).env("DEBUGINFOD_URLS", "http://127.0.0.1:9").output().unwrap();
        assert!(!place.path("taken").exists(), "{words:?}: {}", fs::read_to_string(place.path("taken")).unwrap());
    }
}

#[test]
fn interrupted_traced_runs_leave_no_file() {
    let place = Place::new();
    let nap = own_sleep(104);
    for (mode, end) in [("--what-if", Signal::TERM), ("--swap", Signal::HUP), ("--what-if", Signal::KILL)] {
        let value = if mode == "--swap" { "adaptive" } else { "lock" };
        let words = ["trace", mode, value, "--", "sleep", &nap];
        let mut command = place.contend(".", &words);
        let mut contend = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("the program", || sleepers(&nap) > 0);
        signal(&contend, end);
        contend.wait().unwrap();
        until("its end", || sleepers(&nap) == 0);
        assert!(place.temporary().is_empty(), "{mode} {end:?}: {:?}", place.temporary());
    }
}

#[test]
fn a_program_keeps_its_status_without_an_archived_record() {
    let place = Place::new();
    fs::write(place.path("archive"), "no archive").unwrap();
    for status in [0, 3] {
        let program = format!("exit {status}");
        let words = ["trace", "--quiet", "--output", "record", "--", "sh", "-c", &program];
        let output = place.contend(".", &words).env("CONTEND_ARCHIVE", place.path("archive")).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
        assert!(!output.stderr.is_empty() && place.path("record").exists());
    }
}
