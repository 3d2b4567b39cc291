//! Loops in the code that reads what other programs made: each has a bound that a reader can see.
//!
//! `loop`, `while` and iterators that make their own items go on for as long as the data say; `for` goes through what is
//! there already. So the first kind names, in the loop, a number of steps ([`blame::Allowance`]), a constant, or an end
//! in time; or a comment above it begins with "It ends", and says why.

use regex::Regex;
use std::fs;
use std::path::{Path, PathBuf};

/// The code that reads files, memory, sockets and records of other programs.
const FOLDERS: [&str; 4] = ["archive/src", "blame/src", "experiments/src/trace", "hang/src"];
/// The begin of a loop whose length the data decide.
const LOOP: &str = r"(^|[ =(:|])(loop \{|while .+|from_fn\(\|\||successors\()";
/// A bound: steps that are counted, a constant, or an end.
const BOUND: &str =
    r"\b[A-Z][A-Z0-9_]{3,}\b|allowance|\.spend\(|\.check\(|Instant::|\bleft\b|\buntil\b|is_over|interrupt|deadline";
const REASON: &str = "// It ends";
/// Lines above a loop that may have the reason.
const ABOVE: usize = 3;

/// Returns the lines with loops that have neither a bound nor a reason.
fn unbounded(text: &str) -> Vec<(usize, &str)> {
    let [begin, bound] = [LOOP, BOUND].map(|pattern| Regex::new(pattern).unwrap());
    let tested = text.find("#[cfg(test)]").unwrap_or(text.len());
    let lines: Vec<&str> = text[..tested].lines().collect();
    let code = |line: &&str| line.split("//").next().unwrap_or_default().to_owned();
    let is_loop = |place: &usize| {
        let code = code(&lines[*place]);
        // In a text there are words as well.
        code.split('"').step_by(2).any(|piece| begin.is_match(piece)) && (code.contains('{') || code.contains('('))
    };
    let is_bounded = |place: &usize| {
        let mut depth = 0_i32;
        let mut inside = Vec::new();
        for line in lines[*place..].iter().map(code) {
            depth += line.matches(['{', '(']).count() as i32 - line.matches(['}', ')']).count() as i32;
            inside.push(line);
            if depth <= 0 {
                break;
            }
        }
        inside.iter().any(|line| bound.is_match(line))
            || lines[place.saturating_sub(ABOVE)..*place].iter().any(|line| line.trim_start().starts_with(REASON))
    };
    (0..lines.len()).filter(is_loop).filter(|place| !is_bounded(place)).map(|place| (place + 1, lines[place])).collect()
}

#[test]
fn every_loop_over_foreign_data_has_a_bound() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files: Vec<PathBuf> = Vec::new();
    FOLDERS.iter().for_each(|folder| crate::one_way_out::sources(&crates.join(folder), &mut files));
    assert!(files.len() > 150, "{}", files.len());
    let is_code = |path: &&PathBuf| !["tests.rs", "mutants.rs"].iter().any(|name| path.ends_with(name));
    let mut found = Vec::new();
    for path in files.iter().filter(is_code) {
        let text = fs::read_to_string(path).unwrap();
        let lines = unbounded(&text).into_iter();
        found.extend(lines.map(|(number, line)| format!("{}:{number}: {}", path.display(), line.trim())));
    }
    assert!(found.is_empty(), "neither a bound nor the reason why it ends:\n{}", found.join("\n"));
}

#[test]
fn a_loop_without_a_bound_is_found() {
    let numbers = |text: &str| unbounded(text).into_iter().map(|(number, _)| number).collect::<Vec<usize>>();
    let follows = "fn follow(mut at: u64) {\n    while at != 0 {\n        at = next(at);\n    }\n}\n";
    assert_eq!(numbers(follows), [2]);
    assert_eq!(numbers(&follows.replace("next(at)", "next(at, self.allowance.spend(1)?)")), [0; 0]);
    assert_eq!(numbers(&follows.replace("at != 0", "at != 0 && seen < MOST_FRAMES")), [0; 0]);
    assert_eq!(numbers(&follows.replace("    while", "    // It ends: the list has an end.\n    while")), [0; 0]);
    // A bound of the code after it, or of a test, is none of the loop.
    assert_eq!(numbers(&follows.replace("    }\n}", "    }\n    check(MOST_FRAMES);\n}")), [2]);
    assert_eq!(numbers(&format!("#[cfg(test)]\n{follows}")), [0; 0]);
    assert_eq!(numbers("let all = iter::from_fn(|| next()).collect();\n"), [1]);
    assert_eq!(numbers("let text = \"a while {later}\";\n"), [0; 0]);
}
