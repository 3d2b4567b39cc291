//! `contend trace --pid` on virtual machines that do not permit attaching, and on processes that only pretend to be one.

use crate::languages::{compiles, source};
use crate::patience::Patience;
use crate::programs::Programs;
use serde_json::Value;
use std::fs::{File, Permissions, read_to_string, set_permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const NOBODY: u32 = 65_534;
/// A trace of a second that has not ended by then never ends.
const HANGS: Duration = Duration::from_secs(60);

struct Running(Child);

impl Running {
    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").arg(name).arg(self.pid().to_string()).status().unwrap().success());
    }

    /// Returns the files of the attach interface that are left of it.
    fn leftovers(&self) -> Vec<PathBuf> {
        let path = PathBuf::from(format!("/tmp/.attach_pid{}", self.pid()));
        [path].into_iter().filter(|path| path.symlink_metadata().is_ok()).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = std::fs::remove_file(format!("/tmp/.java_pid{}", self.pid()));
    }
}

/// Traces a process for a second; `None`, with a message, where no process can be traced.
fn attached(programs: &Programs, pid: u32, user: Option<u32>) -> Option<Value> {
    let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
    let (pid, folder) = (pid.to_string(), programs.path("records"));
    std::fs::create_dir_all(&folder).unwrap();
    set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    let file = folder.join(format!("{pid}-{user:?}.json"));
    contend.env("CONTEND_ARCHIVE", "").args(["trace", "--pid", &pid, "--seconds", "1", "--format", "json", "--output"]);
    contend.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    user.map(|user| contend.uid(user).gid(user));
    let output = contend.spawn().unwrap().wait_with_output_in(HANGS);
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && stderr.contains("needs root") {
        println!("skipped: needs root and a tracefs");
        return None;
    }
    std::fs::read(&file).ok().map(|bytes| crate::command::read(&bytes)).or_else(|| {
        // A process whose threads all sleep has nothing to report.
        assert!(stderr.contains("no thread of"), "{:?}: {stderr}", output.status);
        Some(Value::Null)
    })
}

/// Finds the library of the installed virtual machine.
pub fn library() -> Option<PathBuf> {
    let output = Command::new("java").args(["-XshowSettings:properties", "-version"]).output();
    let stderr = output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned()).unwrap_or_default();
    let home = stderr.lines().find_map(|line| line.trim().strip_prefix("java.home = "));
    home.map(|home| Path::new(home).join("lib/server/libjvm.so")).filter(|library| library.exists())
}

/// Starts the program that pretends to be a virtual machine; it runs once this returns. `None`, with a message, where
/// something is missing.
fn pretending(
    programs: &Programs,
    words: &[&str],
    user: u32,
    folder: &Path,
) -> Option<(Running, BufReader<impl std::io::Read>)> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return None;
    }
    let Some(library) = library() else {
        println!("skipped: needs java");
        return None;
    };
    let program = programs.compiled("false_jvm", &["-ldl"])?;
    set_permissions(program.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program);
    command.arg(library).args(words).current_dir(folder).uid(user).gid(user);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let (process, mut line) = (Running(child), String::new());
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    Some((process, lines))
}

/// Starts a virtual machine whose threads wait for a lock, with its output in a file; it handles signals once this
/// returns. `None`, with a message, without one.
fn virtual_machine(
    programs: &Programs,
    options: &[&str],
    variable: Option<&str>,
    user: u32,
) -> Option<(Running, PathBuf)> {
    let (classes, printed) = (programs.path("classes"), programs.path("printed"));
    if !classes.exists() && !compiles("javac", &[], [&source("Cache.java"), &classes], "-d") {
        return None;
    }
    set_permissions(classes.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
    let mut java = Command::new("java");
    java.args(options).args(["-Dseconds=120", "-cp"]).arg(&classes).arg("Cache").stdin(Stdio::null());
    java.stdout(File::create(&printed).unwrap()).stderr(Stdio::null()).current_dir("/").uid(user).gid(user);
    variable.map(|options| java.env("JAVA_TOOL_OPTIONS", options));
    let process = Running(java.spawn().unwrap());
    let status = || read_to_string(format!("/proc/{}/status", process.pid())).unwrap_or_default();
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", process.pid())).into_iter().flatten().flatten();
        tasks.filter_map(|task| read_to_string(task.path().join("comm")).ok()).collect::<Vec<String>>()
    };
    let until = Instant::now() + HANGS;
    while !threads().iter().any(|name| name.starts_with("Thread-3")) {
        assert!(Instant::now() < until, "{}", status());
        std::thread::sleep(Duration::from_millis(20));
    }
    Some((process, printed))
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn has_java_locks(record: &Value) -> bool {
    let rows = record["results"].as_array().into_iter().flatten();
    rows.filter(|row| row["kind"] == "lock").any(|row| row["type"] == "monitor" || row["type"] == "java lock")
}

/// The program never opens the socket, so that the file would stay until the time limit, which is longer than the trace.
#[test]
fn request_is_a_file_of_the_process_and_does_not_stay() {
    let programs = Programs::new();
    let folder = programs.path("folder");
    std::fs::create_dir(&folder).unwrap();
    set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    let Some((mut process, lines)) = pretending(&programs, &["wait"], NOBODY, &folder) else { return };
    if attached(&programs, process.pid(), None).is_none() {
        return;
    }
    assert_eq!(process.leftovers(), Vec::<PathBuf>::new());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "the process may not write there");
    process.0.kill().unwrap();
    let seen: Vec<String> = lines.lines().map(Result::unwrap).collect();
    assert_eq!(seen, [format!("/tmp {NOBODY}")]);
}

#[test]
fn answers_without_an_end_do_not_delay_the_end() {
    let programs = Programs::new();
    let dump = programs.path("dump");
    // Each thread waits for its own lock, and one holds very many.
    let waiter = |number: u32| {
        format!(
            "\"t{number}\" nid={number} x\n java.lang.Thread.State: BLOCKED\n at A.m{number}(A.java:1)\n - waiting to lock <w{number}> (a A)\n"
        )
    };
    let text =
        "0\n".to_owned() + &(1..=9_999).map(waiter).collect::<String>() + &" - locked <h> (a b)\n".repeat(700_000);
    std::fs::write(&dump, text).unwrap();
    for mode in ["drip", "flood", "file"] {
        let words = [mode, dump.to_str().unwrap()];
        let Some((process, _lines)) = pretending(&programs, &words, NOBODY, Path::new("/")) else { return };
        if attached(&programs, process.pid(), None).is_none() {
            return;
        }
        assert_eq!(process.leftovers(), Vec::<PathBuf>::new());
    }
}

/// Another user, and another process of the same user, listen at the socket of a virtual machine before it does.
#[test]
fn answers_of_other_processes_are_refused() {
    let programs = Programs::new();
    let dump = programs.path("dump");
    for user in [NOBODY, own_user()] {
        let Some((machine, _)) = virtual_machine(&programs, &[], None, own_user()) else { return };
        let thread = machine.pid() + 1;
        let text = format!(
            "0\n\"t\" nid={thread} x\n java.lang.Thread.State: BLOCKED\n at Evil.pay(Evil.java:1)\n - waiting to lock <w> (a Evil)\n"
        );
        std::fs::write(&dump, text).unwrap();
        set_permissions(&dump, Permissions::from_mode(0o644)).unwrap();
        let pid = machine.pid().to_string();
        let words = ["file", dump.to_str().unwrap(), &pid];
        let Some((_other, _lines)) = pretending(&programs, &words, user, Path::new("/")) else { return };
        let Some(record) = attached(&programs, machine.pid(), None) else { return };
        assert!(!has_java_locks(&record) && !record.to_string().contains("Evil"), "user {user}: {record:#}");
        assert_ne!(record["parameters"]["verdict"], "locks", "user {user}");
    }
}

#[test]
fn virtual_machine_that_disables_attaching_prints_no_dump() {
    let programs = Programs::new();
    let disable = "-XX:+DisableAttachMechanism";
    let file = programs.path("options");
    std::fs::write(&file, disable).unwrap();
    let arguments = format!("@{}", file.display());
    let options = format!("-XX:VMOptionsFile={}", file.display());
    for (words, variable) in [(&[][..], Some(disable)), (&[&*arguments], None), (&[&*options], None)] {
        let Some((machine, printed)) = virtual_machine(&programs, words, variable, own_user()) else { return };
        let Some(record) = attached(&programs, machine.pid(), None) else { return };
        let printed = read_to_string(printed).unwrap();
        assert!(!printed.contains("Full thread dump"), "{words:?} {variable:?}: {printed}");
        assert!(!has_java_locks(&record), "{words:?} {variable:?}: {record:#}");
    }
}

#[test]
fn stopped_virtual_machine_gets_no_request() {
    let programs = Programs::new();
    let Some((machine, printed)) = virtual_machine(&programs, &[], None, own_user()) else { return };
    machine.signal("-STOP");
    let has_record = attached(&programs, machine.pid(), None).is_some();
    machine.signal("-CONT");
    if has_record {
        assert_eq!(machine.leftovers(), Vec::<PathBuf>::new());
        // It answers the next trace as ever, after all signals of before.
        let record = attached(&programs, machine.pid(), None).unwrap();
        assert!(has_java_locks(&record), "{record:#}");
        assert!(!read_to_string(printed).unwrap().contains("Full thread dump"));
    }
}

/// Both root and the user of the virtual machine trace it.
#[test]
fn virtual_machine_of_another_user_has_its_locks() {
    if own_user() != 0 {
        return println!("skipped: needs root");
    }
    for user in [None, Some(NOBODY)] {
        let programs = Programs::new();
        let Some((machine, _)) = virtual_machine(&programs, &[], None, NOBODY) else { return };
        let Some(record) = attached(&programs, machine.pid(), user) else { return };
        assert!(has_java_locks(&record), "{user:?}: {record:#}");
        assert_eq!(machine.leftovers(), Vec::<PathBuf>::new());
    }
}
