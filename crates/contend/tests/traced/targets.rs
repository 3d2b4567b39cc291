//! `contend trace --pid` with several processes, control groups, restarted processes and other namespaces; its exports and
//! its lines.

use crate::languages::{compiles, has_python, source};
use crate::patience::Patience;
use crate::programs::Programs;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const HANGS: Duration = Duration::from_secs(60);

/// A process that is killed when its test ends.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Attaches with these flags; `None`, with a message, where no process can be traced. The record goes to a file.
fn attached(programs: &Programs, flags: &[&str]) -> Option<(Output, Value)> {
    let file = programs.path("attached.json");
    let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
    contend.env("CONTEND_ARCHIVE", "").arg("trace").args(flags).args(["--format", "json", "--output"]).arg(&file);
    let mut contend = contend.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let output = contend.wait_with_output_in(HANGS);
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("needs root") || stderr.contains("no_futex_calls") {
        println!("skipped: needs root and a tracefs");
        return None;
    }
    assert!(output.status.success(), "{:?}: {stderr}", output.status);
    let record = crate::command::read(&std::fs::read(&file).unwrap());
    Some((output, record))
}

/// Returns the numbers of the processes that have locks in a record.
fn processes(record: &Value) -> BTreeSet<u64> {
    let rows = record["results"].as_array().unwrap().iter().filter(|row| row["kind"] == "lock");
    rows.filter(|row| row["lock"] == "busy_lock" || row["lock"].as_str().unwrap().starts_with("busy_lock #"))
        .map(|row| row["process"].as_u64().unwrap())
        .collect()
}

#[test]
fn two_processes_are_traced_with_exports_and_named_lines() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    let [one, other] = [0, 1].map(|_| Running::start(&mut Command::new(&program)));
    let (pids, folded) = (format!("{},{}", one.pid(), other.pid()), programs.path("folded"));
    let flags =
        ["--pid", &pids, "--seconds", "1", "--interval", "200ms", "--export", "folded", folded.to_str().unwrap()];
    let Some((output, record)) = attached(&programs, &flags) else { return };
    assert_eq!(processes(&record), [&one, &other].map(|process| u64::from(process.0.id())).into_iter().collect());
    assert_eq!(record["parameters"]["attached_pids"].as_array().unwrap().len(), 2);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.lines().any(|line| line.contains("of it for busy_lock")), "{stderr}");
    let exported = std::fs::read_to_string(&folded).unwrap();
    assert!(exported.lines().any(|line| line.starts_with("busy_lock;work (busy.c:")), "{exported}");
}

#[test]
fn restarted_process_is_found_again_and_named() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    let script = format!("while :; do {} 600; done", program.display());
    let manager = Running::start(Command::new("sh").args(["-c", &script]));
    let children = format!("/proc/{0}/task/{0}/children", manager.pid());
    let first = std::iter::repeat_with(|| std::thread::sleep(Duration::from_millis(5))).take(10_000);
    let first =
        { first }.find_map(|()| std::fs::read_to_string(&children).ok()?.split_whitespace().next().map(str::to_owned));
    let flags = ["--full", "--pid", &first.unwrap(), "--seconds", "2"];
    let Some((output, record)) = attached(&programs, &flags) else { return };
    let (stderr, warnings) = (String::from_utf8_lossy(&output.stderr), record["warnings"].to_string());
    assert!(stderr.contains("(busy) ended, and process ") && stderr.contains("runs in its place"), "{stderr}");
    assert!(warnings.contains("restarted_process") && processes(&record).len() >= 2, "{warnings}");
}

/// A directory of the control groups' file system.
pub struct Directory(pub std::path::PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn processes_of_a_control_group_are_traced() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    let name = format!("contend-test-{}", std::process::id());
    let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"];
    let created = mounts.iter().map(|mount| Path::new(mount).join(&name)).find(|directory| {
        let is_group = std::fs::create_dir(directory).is_ok() && directory.join("cgroup.procs").exists();
        is_group || {
            std::fs::remove_dir(directory).ok();
            false
        }
    });
    let Some(directory) = created.map(Directory) else {
        return println!("skipped: needs a writable cgroup file system");
    };
    let process = Running::start(&mut Command::new(&program));
    if std::fs::write(directory.0.join("cgroup.procs"), process.pid()).is_err() {
        return println!("skipped: needs permission to move processes between control groups");
    }
    for path in [directory.0.clone(), Path::new("/").join(&name)] {
        let Some((_, record)) = attached(&programs, &["--cgroup", path.to_str().unwrap(), "--seconds", "0.5"]) else {
            break;
        };
        assert_eq!(processes(&record), [u64::from(process.0.id())].into_iter().collect());
    }
    drop(process);
}

#[test]
fn groups_that_do_not_exist_are_refused() {
    for (flags, words) in [
        (["--cgroup", "/no/such/group"], "no such control group"),
        (["--container", "no-such-container"], "running containers: "),
        (["--pid", "4194302,4194303"], "no such process"),
    ] {
        let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
        let output = contend.env("CONTEND_ARCHIVE", "").arg("trace").args(flags).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    }
}

/// In the mount namespace of the process, another build is at the path of its program than outside of it.
#[test]
fn names_are_those_of_the_process_in_its_mount_namespace() {
    let programs = Programs::new();
    let other = ["-DLOCK=other_lock", "-DFUNCTION=other_function"];
    let Some(real) = programs.compiled("replaced", &[]) else { return };
    let inside = programs.path("inside");
    std::fs::rename(&real, &inside).unwrap();
    let Some(path) = programs.compiled("replaced", &other) else { return };
    let script = format!("mount --bind {0} {1} && exec {1} kept 60", inside.display(), path.display());
    let process = Running::start(Command::new("unshare").args(["-m", "sh", "-c", &script]));
    std::thread::sleep(Duration::from_millis(500));
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
    if namespace(&process.pid()).is_none() || namespace(&process.pid()) == namespace("self") {
        return println!("skipped: needs root and unshare");
    }
    let Some((_, record)) = attached(&programs, &["--pid", &process.pid(), "--seconds", "1"]) else { return };
    let rows = record["results"].to_string();
    assert!(rows.contains("mapped_lock") && rows.contains("mapped_function (replaced.c:"), "{rows}");
    assert!(!rows.contains("other_"), "named from the file outside: {rows}");
}

/// Starts a program in a new PID namespace; returns its number outside. `None`, with a message, where that is not
/// possible.
fn in_pid_namespace(words: &[&str]) -> Option<(Running, String)> {
    let unshare = ["--pid", "--fork", "--kill-child", "--mount-proc"];
    let outer = Running::start(Command::new("unshare").args(unshare).args(words));
    let children = format!("/proc/{0}/task/{0}/children", outer.pid());
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(50));
        let child = std::fs::read_to_string(&children).unwrap_or_default();
        if let Some(child) = child.split_whitespace().next() {
            return Some((outer, child.to_owned()));
        }
    }
    println!("skipped: needs root and unshare");
    None
}

/// Attaches up to four times to a program in a PID namespace, since other programs on the CPUs can be the larger problem
/// once. Its locks are the problem, and the lock's waits were seen in the threads that the kernel's events name.
fn assert_locks_in_pid_namespace(programs: &Programs, words: &[&str], object: &str) {
    let Some((_outer, pid)) = in_pid_namespace(words) else { return };
    let mut last = String::new();
    for _ in 0..4 {
        let Some((_, record)) = attached(programs, &["--pid", &pid, "--seconds", "3"]) else { return };
        let rows = record["results"].as_array().unwrap();
        let is_found =
            rows.iter().any(|row| row["kind"] == "finding" && row["object"].as_str().unwrap().contains(object));
        if record["parameters"]["verdict"] == "locks" && is_found {
            return;
        }
        last = format!(
            "{} {:?}",
            record["parameters"]["verdict"],
            rows.iter().filter(|row| row["kind"] == "finding").collect::<Vec<_>>()
        );
    }
    panic!("{object}: {last}");
}

/// A program in another PID namespace knows its threads by other numbers than the kernel's events.
#[test]
fn python_in_a_pid_namespace_has_its_functions() {
    let script = source("cache.py");
    if has_python() {
        let words = ["python3", script.to_str().unwrap(), "120"];
        assert_locks_in_pid_namespace(&Programs::new(), &words, "threading.Lock of request (cache.py:");
    }
}

#[test]
fn java_in_a_pid_namespace_has_its_locks() {
    let programs = Programs::new();
    let classes = programs.path("classes");
    if compiles("javac", &[], [&source("Cache.java"), &classes], "-d") {
        let words = ["java", "-Dseconds=120", "-cp", classes.to_str().unwrap(), "Cache", "table"];
        assert_locks_in_pid_namespace(&programs, &words, "ReentrantLock in Cache.update");
    }
}
