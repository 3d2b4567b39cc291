//! `contend trace` on programs that a preloaded library harms easily: their output and their end are those of a run
//! without contend.

use crate::command::{executable, read};
use crate::programs::{Programs, command as trace};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Output};

/// Runs the program alone and traced, and compares what it prints and how it ends; returns the record.
fn unharmed(programs: &Programs, program: &Path, arguments: &[&str]) -> Value {
    let alone = Command::new(program).args(arguments).output().unwrap();
    let file = programs.path("unharmed.json");
    let flags = ["--quiet", "--no-keep", "--format", "json", "--output", file.to_str().unwrap()];
    let traced = trace(&flags, program, arguments).output().unwrap();
    let words = || format!("{} {arguments:?}", program.display());
    assert_eq!(text(&traced.stdout), text(&alone.stdout), "{}", words());
    let errors = |output: &Output| text(&output.stderr).lines().filter(|line| !is_contends(line)).count();
    assert_eq!(errors(&traced), errors(&alone), "{}: {}", words(), text(&traced.stderr));
    assert_eq!(shell_status(traced.status), shell_status(alone.status), "{}: {}", words(), text(&traced.stderr));
    read(&std::fs::read(&file).unwrap())
}

/// Returns whether a line is of contend's own messages.
fn is_contends(line: &str) -> bool {
    ["warning:", "help:", "  "].iter().any(|begin| line.starts_with(begin)) || line.is_empty()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the status as a shell gives it.
fn shell_status(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn codes(record: &Value) -> Vec<&str> {
    record["warnings"].as_array().unwrap().iter().filter_map(|warning| warning["code"].as_str()).collect()
}

/// Lets other users reach the programs.
fn open_to_all(program: &Path) {
    let directory = program.parent().unwrap();
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn can_run(tool: &str, arguments: &[&str]) -> bool {
    let can = Command::new(tool).args(arguments).output().is_ok_and(|output| output.status.success());
    if !can {
        println!("skipped: needs {tool} {}", arguments.join(" "));
    }
    can
}

#[test]
fn mlockall_locks_the_program_alone() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("unharmed", &[]) else { return };
    unharmed(&programs, &program, &["locks-memory"]);
    unharmed(&programs, &program, &["locks-memory-directly"]);
}

#[test]
fn mlockall_of_users_keeps_to_their_limit() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("unharmed", &[]) else { return };
    let contend = env!("CARGO_BIN_EXE_contend");
    // Root, and a directory that the user can reach.
    if !can_run("setpriv", &["--reuid", "65534", "--regid", "65534", "--clear-groups", contend, "--version"]) {
        return;
    }
    open_to_all(&program);
    let script = programs.path("limited");
    let user = "setpriv --reuid 65534 --regid 65534 --clear-groups sh -c";
    // A limit that the program alone keeps, and that the memory for its records would exceed by far.
    let both = |command: &str| {
        let line = format!("#!/bin/sh\nexec {user} 'ulimit -l 8192; {command} locks-memory'\n");
        executable(&script, line);
        Command::new(&script).output().unwrap()
    };
    let alone = both(&program.display().to_string());
    let traced = both(&format!("{contend} trace --quiet --no-keep --output /dev/null -- {}", program.display()));
    assert_eq!(text(&traced.stdout), text(&alone.stdout), "{}", text(&traced.stderr));
    assert!(text(&alone.stdout).contains("mlockall: done"), "{}", text(&alone.stderr));
}

#[test]
fn programs_that_forbid_system_calls_live() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("unharmed", &[]) else { return };
    let record = unharmed(&programs, &program, &["forbids-calls"]);
    assert!(record["results"].as_array().unwrap().iter().any(|row| row["kind"] == "lock"), "nothing was recorded");
    unharmed(&programs, &program, &["forbids-calls-and-forks"]);
}

#[test]
fn limited_address_space_is_the_programs() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("unharmed", &[]) else { return };
    unharmed(&programs, &program, &["limits-addresses"]);
    let script = programs.path("limits");
    executable(&script, format!("#!/bin/sh\nulimit -v 500000\nulimit -v\n{} small\n", program.display()));
    unharmed(&programs, &script, &[]);
}

#[test]
fn small_stacks_and_closed_descriptors_do_not_matter() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("unharmed", &[]) else { return };
    unharmed(&programs, &program, &["small"]);
    unharmed(&programs, &program, &["closes-all"]);
}

#[test]
fn small_control_group_is_enough() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("unharmed", &[]) else { return };
    let name = format!("contend-unharmed-{}", std::process::id());
    let limited = |(root, limit): (&str, &str)| {
        let directory = Path::new(root).join(&name);
        std::fs::create_dir(&directory).ok()?;
        let limit = directory.join(limit);
        let is_limited = limit.exists() && std::fs::write(&limit, "20M").is_ok();
        if !is_limited {
            let _ = std::fs::remove_dir(&directory);
        }
        is_limited.then_some(directory)
    };
    let versions = [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];
    let Some(directory) = versions.into_iter().find_map(limited) else {
        return println!("skipped: needs root and the memory controller of control groups");
    };
    let script = programs.path("small");
    let group = directory.join("cgroup.procs");
    executable(&script, format!("#!/bin/sh\necho $$ >{}\nexec {} locks-memory\n", group.display(), program.display()));
    unharmed(&programs, &script, &[]);
    // The group is empty once the kernel has forgotten its last process.
    crate::command::place::waited_for(|| std::fs::remove_dir(&directory).ok());
}

#[test]
fn every_way_to_start_a_program_works() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("unharmed", &[]) else { return };
    let Some(child) = programs.compiled("arguments", &[]) else { return };
    let record = unharmed(&programs, &program, &["starts", child.to_str().unwrap()]);
    assert!(!codes(&record).contains(&"unloaded_program"), "{:?}", codes(&record));
}

/// Programs of musl and of 32 bits cannot load the library, which is said; programs that they start can again.
#[test]
fn programs_with_other_loaders_are_left_alone() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("unharmed", &[]) else { return };
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/arguments.c");
    for (name, compiler) in [("musl", &["musl-gcc"][..]), ("small", &["cc", "-m32"][..])] {
        let child = programs.path(name);
        let compiled = Command::new(compiler[0]).args(&compiler[1..]).arg("-o").arg(&child).arg(source).output();
        if !compiled.is_ok_and(|output| output.status.success()) {
            println!("skipped: needs {}", compiler.join(" "));
            continue;
        }
        let record = unharmed(&programs, &program, &["starts", child.to_str().unwrap()]);
        assert!(codes(&record).contains(&"unloaded_program"), "{name}: {:?}", codes(&record));
        let script = programs.path("script");
        executable(&script, format!("#!/bin/sh\n{} a\n(exec {} b)\n", child.display(), child.display()));
        unharmed(&programs, &script, &[]);
    }
}

/// The file of a new program is opened to see whether it can load the library: an open of a pipe would wait for a writer.
#[test]
fn exec_of_a_pipe_fails_at_once() {
    let programs = Programs::new();
    let pipe = programs.path("pipe").display().to_string();
    if can_run("mkfifo", &["-m", "777", &pipe]) {
        unharmed(&programs, Path::new("sh"), &["-c", &format!("exec {pipe}")]);
    }
}

/// A static program passes the environment on without a look: musl's loader then loads the library, which does nothing.
#[test]
fn musl_loads_the_library_and_is_unharmed() {
    let programs = Programs::new();
    let Some(between) = programs.compiled("unharmed", &["-static"]) else { return };
    let child = programs.path("musl");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/arguments.c");
    let compiled = Command::new("musl-gcc").arg("-o").arg(&child).arg(source).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        return println!("skipped: needs musl-gcc");
    }
    let script = programs.path("script");
    executable(&script, format!("#!/bin/sh\n{} starts {}\n", between.display(), child.display()));
    unharmed(&programs, &script, &[]);
}

#[test]
fn programs_out_of_reach_of_the_library_are_left_alone() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("unharmed", &[]) else { return };
    open_to_all(&program);
    let program = program.to_str().unwrap();
    let ways: [&[&str]; 3] = [
        &["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"],
        &["unshare", "--pid", "--fork", "--mount-proc"],
        &["chroot", "--userspec=65534", "/"],
    ];
    for way in ways {
        if !can_run(way[0], &[&way[1..], &["true"]].concat()) {
            continue;
        }
        let script = programs.path("script");
        // The first is traced: nothing but processes of other users is an error of contend.
        executable(&script, format!("#!/bin/sh\n{program} small\n{} {program} small\n", way.join(" ")));
        unharmed(&programs, &script, &[]);
    }
}

/// Programs whose tables for unwinding are damaged, which they themselves never read.
#[test]
fn damaged_tables_harm_no_program() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("unharmed", &[]) else { return };
    let whole = std::fs::read(&program).unwrap();
    let word = |at: usize| usize::try_from(u64::from_le_bytes(whole[at..at + 8].try_into().unwrap())).unwrap();
    let (headers, count) = (word(32), usize::from(whole[56]));
    let is_table = |header: &usize| whole[*header..*header + 4] == 0x6474_e550_u32.to_le_bytes();
    let table = (0..count).map(|number| headers + 56 * number).find(is_table).unwrap();
    let mut random = fastrand::Rng::with_seed(5);
    let mutants = std::env::var("CONTEND_MUTANTS").map_or(16, |count| count.parse().unwrap());
    for number in 0..mutants {
        let mut mutant = whole.clone();
        // The index, and the descriptions behind it.
        let (from, length) = (word(table + 8), 4 * word(table + 32));
        for _ in 0..random.usize(1..64) {
            mutant[from + random.usize(0..length)] = random.u8(..);
        }
        // Or where the index is.
        if random.bool() {
            mutant[table + 16..table + 24].copy_from_slice(&random.u64(0..1 << 20).to_le_bytes());
        }
        let file = programs.path(&format!("mutant-{number}"));
        executable(&file, &mutant);
        unharmed(&programs, &file, &["small"]);
    }
}
