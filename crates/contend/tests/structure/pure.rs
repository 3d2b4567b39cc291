//! The diagnosis is a function of evidence: its files ask nothing of the system, and know no source.

use super::one_way_out::sources;
use std::fs;
use std::path::Path;

/// Types and modules of what watches a program, and of the system.
const SOURCES: [&str; 13] = [
    "Priority::of",
    "Names,",
    "names::Names",
    "profile::Profile",
    "Region",
    "Sources",
    "std::fs",
    "std::process",
    "std::env",
    "std::time",
    "rustix::",
    "libc::open",
    "/proc/",
];

/// Returns the lines of code that name a source.
fn faults(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.filter(|line| SOURCES.iter().any(|source| line.contains(source))).collect()
}

#[test]
fn diagnosis_asks_nothing_of_the_system() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/src/trace");
    let mut found = Vec::new();
    ["diagnosis", "rules"].iter().for_each(|folder| sources(&trace.join(folder), &mut found));
    assert!(found.len() > 15);
    for path in found {
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(faults(&text), Vec::<&str>::new(), "{}", path.display());
    }
}

#[test]
fn planted_call_of_the_system_is_a_fault() {
    let text = "use std::fs;\n// std::fs in a comment\nfn f() {}\n#[cfg(test)]\nuse std::env;\n";
    assert_eq!(faults(text), ["use std::fs;"]);
}
