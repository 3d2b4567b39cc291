//! Only one place writes to the standard streams: the one that makes foreign text harmless.

use std::fs;
use std::path::{Path, PathBuf};

/// Code that writes to a terminal.
const WRITERS: [&str; 7] = ["print!(", "println!(", "eprint!(", "eprintln!(", "io::stdout()", "io::stderr()", "dbg!("];
/// Code that only queries a stream, or redirects one in a child process.
const QUESTIONS: [&str; 4] = ["is_terminal()", "tcgetwinsize(", "dup2_stdout(", "Self::of(std::io::std"];
/// The place itself; the progress bar, whose text the observer escapes; and the full-screen terminal, whose charts
/// are drawn through a library that drops control characters.
const OUTLETS: [&str; 3] = ["harness/src/output.rs", "harness/src/bar.rs", "terminal/src/full_screen/mod.rs"];
const CRATES: [&str; 10] =
    ["archive", "contend", "experiments", "harness", "locks", "record", "remote", "report", "screen", "terminal"];

pub fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn only_one_place_writes_to_the_standard_streams() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    CRATES.iter().for_each(|name| sources(&crates.join(name).join("src"), &mut found));
    assert!(found.len() > 200);
    let is_code = |path: &&PathBuf| !path.ends_with("tests.rs") && !OUTLETS.iter().any(|outlet| path.ends_with(outlet));
    for path in found.iter().filter(is_code) {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let writes = WRITERS.iter().any(|writer| line.contains(writer));
            let asks = QUESTIONS.iter().any(|question| line.contains(question));
            assert!(!writes || asks, "{} writes by itself; harness::output does it:\n{line}", path.display());
        }
    }
}
