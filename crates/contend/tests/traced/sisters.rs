//! Attaching to programs in other languages, again and again: their waits are seen, and they stay as they were.

use crate::programs::Programs;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ATTACHMENTS: usize = 3;

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

/// Returns the memory map without the sizes of the heap's pieces, the descriptors, and the number of threads.
fn state(pid: u32) -> (BTreeSet<String>, BTreeSet<PathBuf>, usize) {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let map = std::fs::read_to_string(folder.join("maps")).unwrap();
    let files = map.lines().filter_map(|line| line.split_whitespace().nth(5)).map(str::to_owned).collect();
    let entries = |name: &str| std::fs::read_dir(folder.join(name)).unwrap().map_while(Result::ok);
    let descriptors = entries("fd").filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
    (files, descriptors, entries("task").count())
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
        let mut process = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let first = lines.find(|line| !line.starts_with("0 ")).unwrap();
        let rest = std::thread::spawn(move || lines.last());
        let before = state(process.id());
        let records: Vec<Value> = (0..ATTACHMENTS).map(|_| attach(&programs, &process)).collect();
        let after = state(process.id());
        drop(process.stdin.take());
        assert!(process.wait().unwrap().success(), "{name} was not ended by its input");
        assert_eq!((&before.0, &before.1), (&after.0, &after.1), "{name}");
        // Go's scheduler starts threads when it likes.
        assert!(compiler == "go" || before.2 == after.2, "{name}: {} threads, then {}", before.2, after.2);
        // Its work continued.
        assert_ne!(rest.join().unwrap(), Some(first), "{name}");
        let is_root = !records[0]["warnings"].to_string().contains("needs root");
        let has_lock = |record: &Value| record["results"].to_string().contains("\"type\":\"mutex\"");
        assert!(!is_root || records.iter().any(has_lock), "{name}: {}", records[0]["results"]);
    }
}
