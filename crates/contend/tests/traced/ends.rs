//! `contend trace`: ends of all kinds, of the program and of `contend`; programs that cannot be watched.

use crate::command::executable;
use crate::patience::Patience;
use crate::programs::{Programs, command as trace, traced};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A wait of this length never ends, at any speed of the machine.
const HANGS: Duration = Duration::from_secs(60);

#[test]
fn ctrl_c_on_a_deadlock_names_it_and_ends_the_program() {
    crate::command::heard::interrupts();
    let programs = Programs::new();
    let Some(program) = programs.compiled("deadlock", &[]) else { return };
    let flags = ["--deadline", "300ms"];
    let mut child = trace(&flags, &program, &[]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("deadlock after")), "no deadlock was found");
    // The rest of its messages must find a reader.
    let rest = std::thread::spawn(move || lines.collect::<Vec<String>>().join("\n"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output_in(HANGS);
    let report = rest.join().unwrap();
    assert_eq!(output.status.code(), Some(130), "{report}");
    assert!(
        report.contains("Deadlock after") && report.contains("leftmost") && report.contains("rightmost"),
        "{report}"
    );
    assert!(!runs(&program), "the program lives");
}

/// At random moments the program, contend, or both are killed: what was recorded is shown where contend lives, and
/// nothing is left but the program that was not killed.
#[test]
fn killed_program_leaves_nothing_and_its_record_is_shown() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    let mut random = fastrand::Rng::with_seed(17);
    let kills = std::env::var(KILLS).map_or(24, |count| count.parse().unwrap());
    for round in 0..kills {
        let file = programs.path("killed.json");
        let _ = std::fs::remove_file(&file);
        let flags = ["--format", "json", "--quiet", "--output", file.to_str().unwrap()];
        let mut child = trace(&flags, &program, &["20000"]).stderr(Stdio::null()).spawn().unwrap();
        let watched = started(&program);
        std::thread::sleep(Duration::from_millis(random.u64(0..60)));
        let (kills_program, kills_contend) = [(true, false), (false, true), (true, true)][round % 3];
        if kills_program {
            let _ = kill_process(watched, Signal::KILL);
        }
        if kills_contend {
            child.kill().unwrap();
        }
        let output = child.wait_with_output_in(HANGS);
        if !kills_program {
            assert!(runs(&program), "round {round}: the program ended with contend");
            kill_process(watched, Signal::KILL).unwrap();
        }
        if !kills_contend && output.status.code() == Some(128 + 9) {
            let record = crate::command::read(&std::fs::read(&file).unwrap());
            assert_eq!(record["parameters"]["exit_signal"], 9);
            let lock = &record["results"][0];
            // Without a lock, it was killed before it took its first one.
            assert!(lock["kind"] != "lock" || lock["lock"] == "busy_lock", "{lock}");
            assert!(lock["kind"] != "lock" || lock["acquisitions"].as_u64() > Some(0), "{lock}");
        } else if !kills_contend {
            // It was killed before it loaded the library.
            assert_eq!(output.status.code(), Some(1));
        }
        let until = Instant::now() + HANGS;
        while runs(&program) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!runs(&program), "round {round}: the program lives");
        let left = std::fs::read_dir(file.parent().unwrap()).unwrap().flatten();
        let left: Vec<_> =
            left.map(|entry| entry.file_name()).filter(|name| name != "busy" && name != "killed.json").collect();
        // A killed writer cannot take its draft away; nothing but that is excused.
        assert!(kills_contend || left.is_empty(), "{left:?}");
        left.iter().for_each(|name| drop(std::fs::remove_file(file.with_file_name(name))));
    }
}

#[test]
fn program_outlives_contend_that_is_killed() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    // The second child starts when the library's file is gone.
    let script = format!("{0} 3000; first=$?; {0} 100; echo $first $?", program.display());
    let mut contend = trace(&["--quiet"], Path::new("sh"), &["-c", &script]);
    let mut child = contend.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    started(&program);
    // The library is in it once it is at work.
    std::thread::sleep(Duration::from_millis(500));
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "3 3\n");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Variable with the number of kills. The hundred of them take a minute; the tests a part of it.
const KILLS: &str = "CONTEND_TRACE_KILLS";

/// Returns whether a process runs this file.
fn runs(program: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|entry| std::fs::read_link(entry.path().join("exe")).ok()).any(|file| file == program)
}

/// Returns the process that runs the program, once there is one.
fn started(program: &Path) -> Pid {
    let until = Instant::now() + HANGS;
    while Instant::now() < until {
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            if std::fs::read_link(entry.path().join("exe")).is_ok_and(|file| file == program)
                && let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok())
            {
                return Pid::from_raw(pid).unwrap();
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the program does not start");
}

#[test]
fn what_cannot_be_watched_is_said_before_it_is_started() {
    let programs = Programs::new();
    let Some(fixed) = programs.compiled("busy", &["-static"]) else { return };
    let text = programs.path("text");
    executable(&text, "no program");
    let mut small = std::fs::read(&fixed).unwrap();
    small[4] = 1;
    let narrow = programs.path("narrow");
    executable(&narrow, small);
    let plain = programs.path("plain");
    std::fs::write(&plain, "text").unwrap();
    std::fs::set_permissions(&plain, PermissionsExt::from_mode(0o644)).unwrap();
    for (program, words) in [
        (text.as_path(), "neither a program nor a script"),
        (&narrow, "32-bit"),
        (Path::new("/nowhere/at/all"), "No such file"),
        (Path::new("no-such-program-anywhere"), "command not found in PATH"),
        (&plain, "not an executable file"),
        (Path::new("/tmp"), "not an executable file"),
    ] {
        let output = trace(&[], program, &[]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{}: {stderr}", program.display());
        assert!(stderr.contains(words) && stderr.contains(program.to_str().unwrap()), "{stderr}");
    }
    let none = crate::command::contend(&["trace"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("contend trace --"));
}

#[test]
fn a_program_without_locks_ends_with_its_own_status_and_output() {
    for command in ["trace", "preempted"] {
        let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
        contend.env("CONTEND_ARCHIVE", "").args([command, "--", "sh", "-c", "echo out; echo err >&2; exit 5"]);
        let output = contend.output().unwrap();
        assert_eq!(output.status.code(), Some(5));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "out\n", "{command}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let report = if command == "trace" { "ended with status 5" } else { "never seen preempted" };
        assert!(stderr.starts_with("err\n") && stderr.contains(report), "{command}: {stderr}");
    }
}

#[test]
fn requested_format_or_output_is_on_stdout() {
    let run = |flags: &[&str]| {
        let output = trace(&[flags, &["--quiet"]].concat(), Path::new("true"), &[]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(crate::command::read(run(&["--format", "json"]).as_bytes())["parameters"]["exit_status"], 0);
    assert!(run(&["--output", "-"]).contains("ended with status 0"));
}

#[test]
fn script_is_traced_with_its_children_and_its_status() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    let script = programs.path("script");
    executable(&script, format!("#!/bin/sh\n{} 50\nexit 6\n", program.display()));
    let traced = traced(&programs, &[], &script, &[]);
    assert_eq!(traced.record["parameters"]["exit_status"], 6);
    assert!(traced.lock("busy_lock")["acquisitions"].as_u64() > Some(1_000));
    assert!(traced.record["warnings"].to_string().contains("watched_script"));
}

#[test]
fn program_is_terminated_after_its_seconds() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("busy", &[]) else { return };
    let traced = traced(&programs, &["--seconds", "2", "--interval", "200ms"], &program, &[]);
    assert_eq!(traced.record["parameters"]["exit_signal"], 15);
    let stderr = String::from_utf8_lossy(&traced.output.stderr).into_owned();
    // An interval has a second line for the lock if one is too short.
    let intervals = stderr.replace(",\n           ", ", ");
    let names_lock = |line: &&str| line.contains("of one thread's time), ") && line.contains("busy_lock");
    assert!(intervals.lines().filter(names_lock).count() >= 2, "{stderr}");
}

/// A shell without job control has SIGINT ignored in what it starts in the background.
#[test]
fn sigint_ends_the_trace_in_a_script_that_ignores_it() {
    let script = "trap '' INT; \"$1\" trace --quiet -- sh -c 'kill -INT $$; sleep 60' & sleep 1; kill -INT $!; wait $!";
    let began = std::time::Instant::now();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_contend")]).env("CONTEND_ARCHIVE", "");
    let output = command.output().unwrap();
    assert!(output.status.code().is_some_and(|status| status != 0), "{output:?}");
    // The program ignored its own signal, as it would have without contend.
    assert!(String::from_utf8_lossy(&output.stderr).contains("killed by signal 15"), "{output:?}");
    assert!(began.elapsed() < Duration::from_secs(40));
}
