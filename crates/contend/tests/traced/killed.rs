//! contend is ended by signals at any moment, a third of them SIGKILL: it leaves no file, no semaphore, no shared memory and
//! no process but a traced program, which goes on to its end; and a process that was attached to lives on with its own code.

use crate::command::held;
use crate::programs::Programs;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Kills of this test; `CONTEND_KILLS` asks for another number.
const KILLS: usize = 48;
/// Time in which contend ends after a signal that it can handle; on a busy machine this is many times what it needs.
const ENDS: Duration = Duration::from_secs(10);
/// A variable of each run, which its children inherit.
const MARK: &str = "CONTEND_TEST_OF_KILLS";

/// The command lines; `PROGRAM` is a program with locks that runs for three seconds, `PID` a process, `FOLDER` a directory.
const CALLS: &[&str] = &[
    "latency --seconds 20",
    "latency --lock sysv,posix --threads 40 --seconds 20",
    "throughput --children 4 --seconds 20",
    "throughput --processes --children 8 --lock calock,usema --run 500ms --seconds 20",
    "noise --seconds 20",
    "noise --wake 1ms --policy fifo --seconds 20",
    "noise --scenario competitor,rescheduler --seconds 20",
    "load --seconds 20",
    "core --seconds 20",
    "clock --seconds 20",
    "ring --contestant rust-futex,rust-optimum,rust-pipe --large 0 --seconds 20",
    "model frames --seconds 20",
    "model step --seconds 20",
    "model locks --cores 64,128",
    "survey --seconds 20 --no-page",
    "trace -- PROGRAM 200",
    "trace --seconds 20 --output FOLDER/trace.json --format json -- PROGRAM 200",
    "trace --every 1s --output FOLDER/parts --seconds 20 --pid PID",
    "trace --full --seconds 20 --pid PID",
    "trace --seconds 20 --pid PID",
    "trace --word is_over --seconds 20 --pid PID",
    "trace --swap adaptive --runs 8 -- PROGRAM 40",
    "trace --what-if first_lock --runs 8 -- PROGRAM 40",
    "trace --confirm --runs 8 -- PROGRAM 40",
    "preempted --seconds 20 -- PROGRAM 200",
    "lines --seconds 20 -- PROGRAM 200",
    "lines --seconds 20 --pid PID",
    "top --seconds 20 --pid PID",
    "hang PID",
    "test --deadline 20s -- PROGRAM 200",
    "ab --runs 20 --prepare true PROGRAM PROGRAM",
    "ab --watch --runs 20 PROGRAM PROGRAM",
    "ab --revisions HEAD~1,HEAD --build ./build ./built",
    "doctor",
];
/// Commands that show records or texts and start nothing, and those that other tests kill.
const OTHERS: [&str; 15] = [
    "baseline",
    "compare",
    "completions",
    "explain",
    "fetch",
    "history",
    "ladder",
    "lockstep",
    "machines",
    "man",
    "report",
    "schema",
    "screen",
    "serve",
    "template",
];

/// Makes a repository with two revisions of a program in this directory.
fn repository(folder: &Path) {
    let script = "git init -q . && git config user.email a@example.org && git config user.name a && \
                  printf '#!/bin/sh\\ncp build built\\n' > build && chmod 755 build && git add . && git commit -qm one && \
                  echo '# two' >> build && git commit -qam two";
    assert!(Command::new("sh").args(["-c", script]).current_dir(folder).status().unwrap().success());
}

#[test]
fn every_command_that_measures_or_watches_is_killed() {
    let line = contend::command_line();
    let names = line.get_subcommands().filter(|one| !one.is_hide_set()).map(|one| one.get_name());
    let is_killed =
        |name: &str| CALLS.iter().any(|call| call.split(' ').next() == Some(name)) || OTHERS.contains(&name);
    let missing: Vec<&str> = names.filter(|name| !is_killed(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn call(words: &str, program: &Path, pid: u32, folder: &Path) -> Vec<String> {
    let program = program.display().to_string();
    // A command of `ab` is one word.
    let of_ab = format!("{program} 40");
    let word = |word: &str| match word {
        "PROGRAM" if words.starts_with("ab ") => of_ab.clone(),
        "PROGRAM" => program.clone(),
        "PID" => pid.to_string(),
        other => other.replace("FOLDER", folder.to_str().unwrap()),
    };
    words.split(' ').map(word).collect()
}

/// The processes with this mark: those of a run.
fn marked(mark: &str) -> BTreeSet<u32> {
    let wanted = format!("{MARK}={mark}\0");
    let is_marked = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(wanted.len()).any(|window| window == wanted.as_bytes())
    };
    let numbers = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    numbers.filter(is_marked).collect()
}

/// Memory and semaphores of System V and POSIX: a line each.
fn objects() -> BTreeSet<String> {
    let table = |name: &str| fs::read_to_string(format!("/proc/sysvipc/{name}")).unwrap_or_default();
    let first = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    let sets = ["sem", "shm"].map(|name| table(name).lines().skip(1).map(first).collect::<Vec<_>>());
    let files = fs::read_dir("/dev/shm").into_iter().flatten().map(|entry| entry.unwrap().path().display().to_string());
    sets.into_iter().flatten().chain(files).collect()
}

/// Waits for a condition, and returns whether it came true.
fn within(limit: Duration, mut is_true: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while Instant::now() < end {
        if is_true() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    is_true()
}

struct Witness(Child);

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The begins of the names that may remain after SIGKILL, by the page of the installation.
fn documented() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/install.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("## Files after SIGKILL").expect("the page names them");
    let rows = rest.lines().take_while(|line| !line.starts_with("## ")).filter_map(|line| line.strip_prefix("| `"));
    let begins = rows.filter_map(|row| row.split(['`', 'X', 'P']).next()).map(str::to_owned);
    let begins: Vec<String> = begins.collect();
    assert!(begins.len() > 2 && begins.iter().all(|begin| begin.contains("contend-")), "{begins:?}");
    begins
}

/// The files of contend in these directories.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let entries =
        |folder: &Path| fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    let [temporary, own, parts]: [Vec<PathBuf>; 3] =
        [&folder.join("temporary"), folder, &folder.join("parts")].map(entries);
    let is_draft = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".contend"));
    temporary.into_iter().chain([own, parts].concat().into_iter().filter(is_draft)).collect()
}

/// Starts a run, ends it by a signal after a while, and returns the problems.
fn faults(words: &[String], mark: &str, folder: &Path, (signal, after): (Signal, Duration)) -> Vec<String> {
    let (temporary, before) = (folder.join("temporary"), files(folder));
    let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
    contend.args(words).env("CONTEND_ARCHIVE", "").env("TMPDIR", &temporary).current_dir(folder).env(MARK, mark);
    contend.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = contend.process_group(0).spawn().unwrap();
    std::thread::sleep(after);
    let _ = kill_process(Pid::from_child(&child), signal);
    let mut faults = Vec::new();
    if !within(ENDS, || child.try_wait().unwrap().is_some()) {
        faults.push(format!("still there after {ENDS:?}"));
        let _ = child.kill();
        let _ = child.wait();
    }
    // A program that was traced ends by itself.
    if !within(Duration::from_secs(20), || marked(mark).is_empty()) {
        faults.push(format!("left: {:?}", marked(mark)));
        for pid in marked(mark) {
            let _ = kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL);
        }
    }
    // After SIGKILL, what the page of the installation names remains.
    let documented = if signal == Signal::KILL { documented() } else { Vec::new() };
    let is_documented = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        documented.iter().any(|begin| name.starts_with(begin.as_str()))
    };
    let now = files(folder);
    let left: Vec<&PathBuf> = now.difference(&before).filter(|path| !is_documented(path)).collect();
    faults.extend((!left.is_empty()).then(|| format!("files: {left:?}")));
    faults.into_iter().map(|fault| format!("{} {signal:?} after {after:?}: {fault}", words.join(" "))).collect()
}

#[test]
fn contend_that_is_killed_leaves_nothing_and_harms_no_program() {
    let programs = Programs::new();
    let (Some(program), Some(hostile)) = (programs.compiled("known", &[]), programs.compiled("hostile", &[])) else {
        return;
    };
    held::reports();
    let folder = program.parent().unwrap().to_path_buf();
    let temporary = folder.join("temporary");
    fs::create_dir(&temporary).unwrap();
    repository(&folder);
    let mut witness = Command::new(&hostile);
    witness.arg("witness").args([&folder, &folder]).stdout(Stdio::null());
    let mut witness = Witness(witness.spawn().unwrap());
    let kills = std::env::var("CONTEND_KILLS").ok().and_then(|number| number.parse().ok()).unwrap_or(KILLS);
    let mut random = fastrand::Rng::with_seed(7);
    let mut found = Vec::new();
    for turn in 0..kills {
        let signal = [Signal::KILL, Signal::INT, Signal::TERM, Signal::KILL, Signal::HUP, Signal::TERM][turn % 6];
        let words = call(CALLS[turn % CALLS.len()], &program, witness.0.id(), &folder);
        let after = Duration::from_millis(random.u64(20..1_500));
        let before = objects();
        found.extend(faults(&words, &format!("{}-{turn}", std::process::id()), &folder, (signal, after)));
        // The kernel keeps semaphores of System V whose process is killed.
        if signal != Signal::KILL && !within(Duration::from_secs(5), || objects().is_subset(&before)) {
            found.push(format!("{words:?}: left {:?}", objects().difference(&before).collect::<Vec<_>>()));
        }
        assert!(witness.0.try_wait().unwrap().is_none(), "{words:?}: the traced process has ended");
    }
    let remain = files(&folder);
    // The next run in the repository removes the worktrees of those that were killed.
    let revisions = call("ab --revisions HEAD~1,HEAD --runs 6 --build ./build ./built", &program, 0, &folder);
    let mut next = Command::new(env!("CARGO_BIN_EXE_contend"));
    next.args(revisions).env("CONTEND_ARCHIVE", "").env("TMPDIR", &temporary).current_dir(&folder);
    assert!(next.output().unwrap().status.success());
    let worktrees: Vec<PathBuf> =
        files(&folder).into_iter().filter(|path| path.display().to_string().contains("contend-ab-")).collect();
    found.extend((!worktrees.is_empty()).then(|| format!("not removed by the next run: {worktrees:?}")));
    println!("seen: documented files that remained: {remain:?}");
    println!("seen: {kills} kills of {} calls: {} faults", CALLS.len(), found.len());
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
    kill_process(Pid::from_child(&witness.0), Signal::TERM).unwrap();
    assert_eq!(witness.0.wait().unwrap().code(), Some(0), "the code of the traced process changed");
}
