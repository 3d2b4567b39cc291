//! After any end of a run, no program and no directory of its contestants is left.

use super::shell_contestant;
use crate::command;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Starts a run whose contestant sleeps and reports its process; ends it with a signal; returns what is left.
fn ended_by(signal: Signal, script_is_build: bool) -> (Option<i32>, Vec<std::path::PathBuf>, bool) {
    let place = tempfile::tempdir().unwrap();
    let (pid_file, temporary) = (place.path().join("pid"), place.path().join("tmp"));
    std::fs::create_dir(&temporary).unwrap();
    // Its child must end, too.
    let script = format!("sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait", pid_file.display());
    let build = if script_is_build { "build = \"{tool} {out}/ring.sh\"" } else { "" };
    let folder = shell_contestant("sh-sleeper", &script, build);
    let mut child = Command::new(env!("CARGO_BIN_EXE_contend"))
        .env("CONTEND_ARCHIVE", "")
        .args(["ring", "--contestant", "sh-sleeper", "--timeout", "60s", "--recipe", folder.path().to_str().unwrap()])
        .env("TMPDIR", &temporary)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until(|| pid_file.exists(), "the contestant runs");
    let grandchild = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_child(&child), signal).unwrap();
    let status = child.wait().unwrap().code();
    let left = std::fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().path()).collect();
    let gone = || !lives(grandchild);
    for _ in 0..100 {
        if gone() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let gone = gone();
    if !gone {
        let _ = kill_process(Pid::from_raw(grandchild).unwrap(), Signal::KILL);
    }
    (status, left, gone)
}

fn until(mut done: impl FnMut() -> bool, what: &str) {
    for _ in 0..1_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("never: {what}");
}

/// Returns whether the process runs.
///
/// A zombie does not count: its new parent will wait for it.
fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let zombie = stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
    test_kill_process(Pid::from_raw(pid).unwrap()).is_ok() && !zombie
}

#[test]
fn interrupted_run_leaves_no_program_and_no_directory() {
    command::heard::interrupts();
    for script_is_build in [false, true] {
        for signal in [Signal::INT, Signal::TERM] {
            let (status, left, gone) = ended_by(signal, script_is_build);
            assert_eq!(status, Some(130), "build: {script_is_build}");
            assert!(left.is_empty() && gone, "build: {script_is_build}, left {left:?}, gone: {gone}");
        }
    }
}

/// The directory in which a contestant is built is private under any umask; a compiler's files go there, and its
/// children with it.
#[test]
fn killed_build_leaves_no_process_in_a_private_directory() {
    let notes = tempfile::tempdir().unwrap();
    let place = notes.path().display();
    let script = format!(
        "if test $# = 0; then stat -c '%a %n' \"$TMPDIR\" >{place}/folder; sleep 300 & echo $! >{place}/new; \
         mv {place}/new {place}/pid; wait; fi\n"
    );
    let recipe = shell_contestant("sh-slow", &script, "build = \"{tool} {out}/ring.sh\"");
    let contend = env!("CARGO_BIN_EXE_contend");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "umask 0; exec \"$@\"", "sh", contend, "ring", "--contestant", "sh-slow", "--large", "0"]);
    command.args(["--no-memory", "--quiet", "--recipe", recipe.path().to_str().unwrap()]);
    let mut child = command.env("CONTEND_ARCHIVE", "").env("TMPDIR", notes.path()).spawn().unwrap();
    let waits = |what: &dyn Fn() -> bool| {
        (0..600).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            what()
        })
    };
    let begun = waits(&|| notes.path().join("pid").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(begun, "it builds");
    let folder = std::fs::read_to_string(notes.path().join("folder")).unwrap();
    assert!(folder.starts_with(&format!("700 {place}/contend-ring-")), "{folder}");
    let pid = std::fs::read_to_string(notes.path().join("pid")).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    let has_ended = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
    assert!(waits(&has_ended), "the compiler's child {pid} still runs");
}
