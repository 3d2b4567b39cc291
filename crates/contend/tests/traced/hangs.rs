//! `contend hang`, and a trace of a program that hangs: the verdict, the threads and the places of programs that
//! hang in a known way, and of programs that are only idle.

use crate::languages::{compiles, source};
use crate::programs::Programs;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A program in a process group, which is killed at the end of its test.
struct Hanging(Child);

impl Drop for Hanging {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// Starts the program and waits until it says that it begins, and for some time more.
fn started(program: &Path, arguments: &[&str], input: Stdio) -> Hanging {
    let mut command = Command::new(program);
    command.args(arguments).stdin(input).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    Hanging(child)
}

/// Returns the explanation of a process, or `None` where the kernel refuses it.
fn explained(pid: u32) -> Option<Value> {
    let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
    let output = contend.args(["hang", "--format", "json", &pid.to_string()]).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    if answer["explanation"]["finding"]["code"] == "refused" {
        println!("skipped: needs kernel.yama.ptrace_scope 0");
        return None;
    }
    Some(answer)
}

fn found(program: &Path, arguments: &[&str]) -> Option<(Hanging, Value)> {
    if cfg!(not(target_arch = "x86_64")) {
        println!("skipped: needs an x86-64 CPU");
        return None;
    }
    let hanging = started(program, arguments, Stdio::null());
    let answer = explained(hanging.0.id())?;
    Some((hanging, answer))
}

/// Asserts the verdict of a way to hang, and that its sentence has these words.
fn assert_found(way: &str, class: &str, code: &str, words: &[&str]) {
    let programs = Programs::new();
    let Some(program) = programs.compiled("hangs", &[]) else { return };
    let file = programs.path("lock");
    let Some((_hanging, answer)) = found(&program, &[way, file.to_str().unwrap()]) else { return };
    let explanation = &answer["explanation"];
    assert_eq!((&explanation["class"], &explanation["finding"]["code"]), (&class.into(), &code.into()), "{answer:#}");
    let text = answer["text"].as_str().unwrap();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

#[test]
fn hanging_programs_are_explained_by_kind_thread_and_line() {
    assert_found("cycle", "deadlock", "cycle", &["accounts", "journal", "pay (hangs.c:", "audit (hangs.c:"]);
    assert_found("kept", "deadlock", "self_deadlock", &["accounts", "refill (hangs.c:", "returned without releasing"]);
    assert_found("handler", "deadlock", "self_deadlock", &["accounts", "handler tick", "refill (hangs.c:"]);
    assert_found("ended", "hang", "owner_gone", &["accounts", "refill (hangs.c:", "has ended"]);
    assert_found("fork", "hang", "owner_gone", &["accounts", "refill (hangs.c:", "forked"]);
    assert_found("pool", "deadlock", "pool", &["work", "await (hangs.c:", "2 threads"]);
    assert_found("lost", "hang", "no_waker", &["ready", "consume (hangs.c:"]);
    assert_found("slow", "hang", "held_lock", &["accounts", "keeps (hangs.c:", "sleeps"]);
}

#[test]
fn processes_at_the_other_end_are_named() {
    assert_found("pipe", "deadlock", "cycle", &["data from a pipe", "main (hangs.c:"]);
    assert_found("silent", "hang", "peer", &["data from a pipe", "waits for a signal"]);
    assert_found("file", "hang", "peer", &["/lock", "waits for a signal"]);
}

#[test]
fn idle_and_running_programs_are_not_hung() {
    assert_found("server", "not_hung", "going", &["requests on port"]);
    assert_found("sleep", "not_hung", "going", &["a point in time"]);
    assert_found("busy", "not_hung", "going", &["runs"]);
}

#[test]
fn program_at_a_terminal_waits_for_its_user() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("hangs", &[]) else { return };
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&user).and_then(|()| unlockpt(&user)).unwrap();
    let path = ptsname(&user, Vec::new()).unwrap();
    let terminal = std::fs::File::open(path.to_str().unwrap()).unwrap();
    let hanging = started(&program, &["keyboard"], terminal.into());
    let Some(answer) = explained(hanging.0.id()) else { return };
    assert_eq!(answer["class"], "not_hung", "{answer:#}");
    assert!(answer["text"].as_str().unwrap().contains("terminal"), "{answer:#}");
}

#[test]
fn stopped_program_is_named_as_stopped() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("hangs", &[]) else { return };
    let hanging = started(&program, &["lost"], Stdio::null());
    kill_process(Pid::from_child(&hanging.0), Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let Some(answer) = explained(hanging.0.id()) else { return };
    assert_eq!(answer["explanation"]["finding"]["code"], "stopped", "{answer:#}");
}

#[test]
fn missing_process_is_exit_status_1() {
    // The kernel gives no process this number unless its limit was raised to the largest one.
    let output = Command::new(env!("CARGO_BIN_EXE_contend")).args(["hang", "4194304"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.starts_with(b"Unknown: "));
}

#[test]
fn python_pool_that_waits_for_itself_is_a_deadlock() {
    let script = "import sys\nfrom concurrent.futures import ThreadPoolExecutor\nimport time\n\
                  pool = ThreadPoolExecutor(2)\n\
                  def parent(n):\n    time.sleep(0.05)\n    return pool.submit(abs, n).result()\n\
                  all = [pool.submit(parent, n) for n in range(2)]\nprint('begins', flush=True)\n\
                  [one.result() for one in all]\n";
    let programs = Programs::new();
    let file = programs.path("pool.py");
    std::fs::write(&file, script).unwrap();
    let version =
        Command::new("python3").args(["-c", "import sys; print(sys.executable, sys.version_info.minor)"]).output();
    let version = version.ok().filter(|output| output.status.success());
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let Some((python, "11" | "12" | "13")) = version.trim().rsplit_once(' ') else {
        return println!("skipped: needs Python 3.11, 3.12 or 3.13");
    };
    let Some((_hanging, answer)) = found(Path::new(python), &[file.to_str().unwrap()]) else { return };
    assert_eq!(answer["explanation"]["finding"]["code"], "pool", "{answer:#}");
    assert!(answer["text"].as_str().unwrap().contains("parent (pool.py:7)"), "{answer:#}");
}

/// Asserts the verdict of a way to hang of a program of Java, and that its sentence has these words.
fn assert_java(classes: &str, way: &str, class: &str, code: &str, words: &[&str]) {
    let Some((_hanging, answer)) = found(Path::new("java"), &["-cp", classes, "Hangs", way]) else { return };
    let explanation = &answer["explanation"];
    assert_eq!((&explanation["class"], &explanation["finding"]["code"]), (&class.into(), &code.into()), "{answer:#}");
    let text = answer["text"].as_str().unwrap();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

#[test]
fn java_programs_are_explained_by_the_owners_in_their_dumps() {
    let programs = Programs::new();
    let classes = programs.path("classes");
    if !compiles("javac", &[], [&source("Hangs.java"), &classes], "-d") {
        return;
    }
    let classes = classes.to_str().unwrap();
    let both = |pay, audit| ["(pay)", "(audit)", pay, audit];
    assert_java(classes, "monitors", "deadlock", "cycle", &both("Hangs.pay (Hangs.java:", "Hangs.audit (Hangs.java:"));
    assert_java(classes, "locks", "deadlock", "cycle", &both("Hangs.order (Hangs.java:", "locks.ReentrantLock at"));
    assert_java(classes, "mixed", "deadlock", "cycle", &both("the monitor of the", "locks.ReentrantLock at"));
    assert_java(classes, "classes", "deadlock", "cycle", &["initialiser of Hangs$Left", "initialiser of Hangs$Right"]);
    assert_java(classes, "pool", "deadlock", "pool", &["Hangs.parent (Hangs.java:", "ThreadPoolExecutor"]);
    assert_java(classes, "ended", "hang", "owner_gone", &["Hangs.main (Hangs.java:", "has ended"]);
    assert_java(classes, "sleeps", "hang", "held_lock", &["(keeper)", "sleeps for"]);
}

#[test]
fn idle_programs_of_java_are_not_hung() {
    let programs = Programs::new();
    let classes = programs.path("classes");
    if !compiles("javac", &[], [&source("Hangs.java"), &classes], "-d") {
        return;
    }
    let classes = classes.to_str().unwrap();
    assert_java(classes, "idle", "not_hung", "going", &["requests on port"]);
    assert_java(classes, "latch", "not_hung", "going", &["requests on port"]);
    assert_java(classes, "timer", "not_hung", "going", &[]);
    assert_java(classes, "busy", "not_hung", "going", &["runs"]);
    assert_java(classes, "lost", "unknown", "not_seen", &["Hangs.main (Hangs.java:"]);
}

/// Asserts the verdict of a way to hang of a program of Go, and that its sentence has these words.
fn assert_go(program: &Path, way: &str, class: &str, code: &str, words: &[&str]) {
    let Some((_hanging, answer)) = found(program, &[way]) else { return };
    let explanation = &answer["explanation"];
    assert_eq!((&explanation["class"], &explanation["finding"]["code"]), (&class.into(), &code.into()), "{answer:#}");
    let text = answer["text"].as_str().unwrap();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

#[test]
fn goroutines_that_wait_for_each_other_are_named() {
    let programs = Programs::new();
    for flags in [&["build"][..], &["build", "-ldflags=-s -w"]] {
        let program = programs.path("hangs");
        if !compiles("go", flags, [&source("hangs.go"), &program], "-o") {
            return;
        }
        let both = ["goroutine", "main.pay (hangs.go:", "main.audit (hangs.go:", "probably holds"];
        assert_go(&program, "mutexes", "deadlock", "cycle", &both);
        let both = ["main.(*bank).move (hangs.go:", "main.(*bank).check (hangs.go:", "sync.RWMutex"];
        assert_go(&program, "fields", "deadlock", "cycle", &both);
        assert_go(&program, "readers", "deadlock", "cycle", &["main.reread (hangs.go:", "has requested before"]);
        assert_go(&program, "nested", "deadlock", "self_deadlock", &["main.(*bank).", "hangs.go:"]);
        assert_go(&program, "again", "deadlock", "self_deadlock", &["main.again (hangs.go:"]);
        assert_go(&program, "channels", "hang", "no_waker", &["all 6 goroutines", "main.main.func"]);
        assert_go(&program, "cond", "hang", "no_waker", &["all 2 goroutines"]);
    }
}

#[test]
fn idle_programs_of_go_are_not_hung() {
    let programs = Programs::new();
    let program = programs.path("hangs");
    if !compiles("go", &["build"], [&source("hangs.go"), &program], "-o") {
        return;
    }
    assert_go(&program, "server", "not_hung", "going", &["requests on port", "main.main (hangs.go:"]);
    // In the last three, a goroutine gets a mutex, or will in seconds.
    for way in ["sleep", "signal", "ticker", "busy", "select", "turns", "twice", "outer"] {
        assert_go(&program, way, "not_hung", "going", &[]);
    }
}

#[test]
fn traced_program_that_hangs_has_the_verdict_first() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("hangs", &[]) else { return };
    for (way, verdict) in [("cycle", "Deadlock: "), ("lost", "Hang: ")] {
        let flags = ["--deadline", "500ms", "--seconds", "4"];
        let output = crate::programs::command(&flags, &program, &[way]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.starts_with(verdict), "{stderr}");
        let words = ["times the throughput", "what-if", "Remedy"];
        assert!(words.iter().all(|word| !stderr.contains(word)), "{stderr}");
    }
}

#[test]
fn hanging_test_command_is_explained_and_ended() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("hangs", &[]) else { return };
    let file = programs.path("result.xml");
    let run = |arguments: &[&str]| {
        let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
        contend.args(["test", "--deadline", "1500ms", "--output", file.to_str().unwrap(), "--"]).args(arguments);
        contend.output().unwrap()
    };
    let hung = run(&["sh", "-c", &format!("{} cycle; echo after", program.display())]);
    let stderr = String::from_utf8_lossy(&hung.stderr);
    assert_eq!(hung.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("Deadlock: ") && stderr.contains("pay (hangs.c:"), "{stderr}");
    assert!(std::fs::read_to_string(&file).unwrap().contains("<failure message=\"Deadlock: "));
    let green = run(&["sh", "-c", "echo out; sleep 2; exit 7"]);
    assert_eq!((green.status.code(), &*green.stdout), (Some(7), &b"out\n"[..]));
}

/// Runs a test suite; returns the exit status and standard error.
fn suite(folder: &Path, command: &[&str]) -> (Option<i32>, String) {
    let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
    contend.args(["test", "--deadline", "3s", "--output", "hang.xml", "--"]).args(command).current_dir(folder);
    let output = contend.stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Asserts that a suite with a hanging test is red with a sentence that has these words, and green without that test.
fn assert_suite(folder: &Path, hanging: &[&str], green: &[&str], words: &[&str]) {
    let (status, stderr) = suite(folder, hanging);
    let sentence = stderr.lines().find(|line| line.starts_with("Deadlock: ")).unwrap_or_default();
    assert!(status == Some(1) && words.iter().all(|word| sentence.contains(word)), "{status:?} {stderr}");
    let file = folder.join("hang.xml");
    assert!(std::fs::read_to_string(&file).unwrap().contains("<failure message=\"Deadlock: "));
    let (status, stderr) = suite(folder, green);
    assert_eq!(status, Some(0), "{stderr}");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("<failure"));
}

/// Copies files of `tests/trace/suites` into a directory, each to its place there; `None` without a program.
fn copied(programs: &Programs, program: &str, files: &[(&str, &str)]) -> Option<std::path::PathBuf> {
    let version = Command::new(program).arg(if program == "go" { "version" } else { "--version" }).output();
    if !version.is_ok_and(|output| output.status.success()) {
        println!("skipped: needs {program}");
        return None;
    }
    let folder = programs.path(program);
    for (from, to) in files {
        let to = folder.join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(source(&format!("suites/{from}")), to).unwrap();
    }
    Some(folder)
}

#[test]
fn suite_of_pytest_with_a_hanging_test_is_red() {
    let programs = Programs::new();
    let Some(folder) = copied(&programs, "python3", &[("test_store.py", "test_store.py")]) else { return };
    let has_pytest = Command::new("python3").args(["-m", "pytest", "--version"]).output();
    if !has_pytest.is_ok_and(|output| output.status.success()) {
        return println!("skipped: needs pytest");
    }
    let pytest = ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"];
    let green = [&pytest[..], &["-k", "adds"]].concat();
    assert_suite(&folder, &pytest, &green, &["pay (test_store.py:", "audit (test_store.py:"]);
}

#[test]
fn suite_of_go_with_a_hanging_test_is_red() {
    let programs = Programs::new();
    let Some(folder) = copied(&programs, "go", &[("store_test.go", "store_test.go")]) else { return };
    std::fs::write(folder.join("go.mod"), "module store\n\ngo 1.22\n").unwrap();
    let words = ["goroutine", "store.TestPays.func1 (store_test.go:"];
    assert_suite(&folder, &["go", "test", "./..."], &["go", "test", "-run", "Adds", "./..."], &words);
}

#[test]
fn suite_of_cargo_with_a_hanging_test_is_red() {
    let programs = Programs::new();
    let Some(folder) = copied(&programs, "cargo", &[("store.rs", "tests/store.rs")]) else { return };
    let manifest = "[package]\nname = \"store\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let words = ["store::pay (store.rs:", "store::audit (store.rs:"];
    assert_suite(&folder, &["cargo", "test", "-q"], &["cargo", "test", "-q", "adds"], &words);
}

#[test]
fn suite_of_junit_with_a_hanging_test_is_red() {
    let programs = Programs::new();
    let Some(folder) = copied(&programs, "javac", &[("StoreTest.java", "StoreTest.java")]) else { return };
    let jars = ["junit4.jar", "hamcrest-all.jar", "hamcrest.jar"].map(|jar| format!("/usr/share/java/{jar}"));
    let path = format!("{}:{}", jars.join(":"), folder.display());
    let compiled = Command::new("javac").args(["-cp", &path, "StoreTest.java"]).current_dir(&folder).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        return println!("skipped: needs JUnit 4");
    }
    let java = ["java", "-cp", &path];
    let hanging = [&java[..], &["org.junit.runner.JUnitCore", "StoreTest"]].concat();
    let green = [&java[..], &["StoreTest"]].concat();
    assert_suite(&folder, &hanging, &green, &["(pay)", "(audit)", "StoreTest.lock (StoreTest.java:"]);
}
