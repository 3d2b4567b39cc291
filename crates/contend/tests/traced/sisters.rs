//! Attaching to programs in other languages, again and again: their waits are seen, and they stay as they were.

use crate::programs::Programs;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ATTACHMENTS: usize = 5;

/// Compiles a program of `tests/trace/sisters`; `None`, and it is said, without its compiler.
fn compiled(programs: &Programs, compiler: &str, words: &[&str], name: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace/sisters").join(name);
    let program = programs.path("sister");
    let output = Command::new(compiler).args(words).arg("-o").arg(&program).arg(source).output();
    let is_compiled = output.is_ok_and(|output| output.status.success());
    if !is_compiled {
        println!("skipped: needs {compiler}");
    }
    is_compiled.then_some(program)
}

/// The parts of a process that an attachment can change.
struct State {
    /// The map without addresses: the rights, the offset and the name of each piece of a file, and of code of no file.
    map: Vec<String>,
    /// The bytes of the program's own code, which has no breakpoint.
    code: Vec<u8>,
    descriptors: Vec<PathBuf>,
    /// Its tracer, its rights, and its signals.
    status: Vec<String>,
}

/// Returns the state of a process, and the number of its threads.
fn state(pid: u32, program: &Path) -> (State, usize) {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (mut map, mut code) = (Vec::new(), Vec::new());
    let memory = File::open(folder.join("mem")).unwrap();
    for line in text("maps").lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (rights, offset, name) = (fields[1], fields[2], fields.get(5).copied().unwrap_or_default());
        // The program's own memory grows as it runs.
        if name.starts_with('/') || rights.contains('x') {
            map.push(format!("{rights} {offset} {name}"));
        }
        if name == program.to_str().unwrap() && rights.contains('x') {
            let [from, to] = [0, 1].map(|end| fields[0].split('-').nth(end).unwrap());
            let [from, to] = [from, to].map(|end| u64::from_str_radix(end, 16).unwrap());
            let before = code.len();
            code.resize(before + (to - from) as usize, 0);
            memory.read_exact_at(&mut code[before..], from).unwrap();
        }
    }
    map.sort();
    let entries = |name: &str| std::fs::read_dir(folder.join(name)).unwrap().map_while(Result::ok);
    let mut descriptors: Vec<PathBuf> =
        entries("fd").filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
    descriptors.sort();
    let lasts =
        |line: &&str| ["TracerPid:", "Cap", "SigIgn:", "SigCgt:", "Seccomp"].iter().any(|it| line.starts_with(it));
    let status = text("status").lines().filter(lasts).map(str::to_owned).collect();
    (State { map, code, descriptors, status }, entries("task").count())
}

fn attach(programs: &Programs, process: &Child) -> Value {
    let file = programs.path("sister.json");
    let mut contend = Command::new(env!("CARGO_BIN_EXE_contend"));
    contend.env("CONTEND_ARCHIVE", "").args(["trace", "--pid", &process.id().to_string(), "--seconds", "0.2"]);
    let output = contend.args(["--format", "json", "--output"]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    crate::command::read(&std::fs::read(&file).unwrap())
}

#[test]
fn attaching_again_and_again_leaves_a_process_as_it_was() {
    let programs = Programs::new();
    for (compiler, words, name) in
        [("go", &["build"][..], "sister.go"), ("rustc", &["-O", "--edition", "2024"], "sister.rs")]
    {
        let Some(program) = compiled(&programs, compiler, words, name) else { continue };
        let mut process = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let first = lines.find(|line| !line.starts_with("0 ")).unwrap();
        let rest = std::thread::spawn(move || lines.last());
        let (before, threads_before) = state(process.id(), &program);
        let records: Vec<Value> = (0..ATTACHMENTS).map(|_| attach(&programs, &process)).collect();
        let (after, threads_after) = state(process.id(), &program);
        drop(process.stdin.take());
        assert!(process.wait().unwrap().success(), "{name} was not ended by its input");
        assert!(!before.code.is_empty() && before.code == after.code, "{name}: the code changed");
        assert_eq!(
            (before.map, before.descriptors, before.status),
            (after.map, after.descriptors, after.status),
            "{name}"
        );
        // Go's scheduler starts threads when it likes.
        let is_same = threads_before == threads_after;
        assert!(compiler == "go" || is_same, "{name}: {threads_before} threads, then {threads_after}");
        // Its work continued.
        assert_ne!(rest.join().unwrap(), Some(first), "{name}");
        let is_root = !records[0]["warnings"].to_string().contains("needs root");
        let has_lock = |record: &Value| record["results"].to_string().contains("\"type\":\"mutex\"");
        assert!(!is_root || records.iter().any(has_lock), "{name}: {}", records[0]["results"]);
    }
}
