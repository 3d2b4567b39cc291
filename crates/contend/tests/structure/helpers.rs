//! Only one place resolves the name of a helper program: the one that skips the relative entries of PATH.

use std::fs;
use std::path::Path;

/// The place itself; the program that the user names, which is searched as a shell does; and a compiler of tests.
const EXEMPT: [&str; 3] = ["instruments/src/helper.rs", "launch/src/program.rs", "blame/src/names/mutants.rs"];

#[test]
fn only_one_place_finds_helper_programs_by_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["crates", "libs"] {
        for package in fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()) {
            if package.join("src").is_dir() {
                crate::one_way_out::sources(&package.join("src"), &mut found);
            }
        }
    }
    assert!(found.len() > 400, "{}", found.len());
    for path in found.iter().filter(|path| !EXEMPT.iter().any(|exempt| path.ends_with(exempt))) {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        // The other type of this name describes a command line.
        let is_of_processes = code.contains("process::Command") || code.contains("use std::process::{");
        let call = if code.contains("use clap::") { "process::Command::new(\"" } else { "Command::new(\"" };
        for line in code.lines().filter(|line| is_of_processes && !line.trim_start().starts_with("//")) {
            // A path is not searched.
            let is_name = line.split(call).skip(1).any(|rest| !rest.starts_with('/'));
            assert!(!is_name, "{} names a helper; instruments::helper finds it:\n{line}", path.display());
        }
        assert!(!code.contains("split_paths("), "{} searches PATH; instruments::helper does", path.display());
    }
}
