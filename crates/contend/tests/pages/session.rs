//! A shell in which a page's commands run: with its own home, directory and archive, and the binary of this build.

use super::blocks::Block;
use super::files::root;
use crate::command::{executable, lengthened};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Replaces Cargo where a page begins with a clone: its products are already built.
const CARGO: &str = r#"#!/bin/sh
[ "$1" = run ] || { echo "no test of cargo $1"; exit 70; }
shift
[ "$1" != --release ] || shift
[ "$1" != -- ] || shift
exec contend "$@"
"#;

/// The name of the machine on the pages.
const THERE: &str = " vm ";

/// The separator of the outputs of two commands.
const MARK: char = '\u{1e}';

pub struct Session {
    folder: TempDir,
}

/// A command, the output on its page, and its actual output.
pub struct Step {
    pub command: String,
    pub shown: Vec<String>,
    pub printed: String,
    pub status: i32,
}

impl Session {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["bin", "home", "here"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let bin = folder.path().join("bin");
        symlink(env!("CARGO_BIN_EXE_contend"), bin.join("contend")).unwrap();
        executable(&bin.join("cargo"), CARGO);
        // The working directory is the clone.
        for name in ["book", "crates", "docs", "libs"] {
            symlink(root().join(name), folder.path().join("here").join(name)).unwrap();
        }
        Self { folder }
    }

    pub fn here(&self) -> PathBuf {
        self.folder.path().join("here")
    }

    /// Runs a block's commands, one after the other in one shell; returns the steps and the text on stderr.
    pub fn run(&self, block: &Block) -> (Vec<Step>, String) {
        let mut flags = block.notes.flags.clone();
        loop {
            let (steps, stderr) = self.run_with(block, &flags);
            if !lengthened(&mut flags, &stderr) {
                return (steps, stderr);
            }
        }
    }

    fn run_with(&self, block: &Block, flags: &[String]) -> (Vec<Step>, String) {
        let mut steps = steps(block);
        let mut script = format!("mark() {{ s=$?; printf '{MARK}%s{MARK}' $s; return $s; }}\n");
        for step in &steps {
            script.push_str(&format!("{}\nmark\n", as_run(&step.command, flags)));
        }
        let output = self.shell(&script);
        let stdout = String::from_utf8_lossy(&output.stdout).replace(&here(), THERE);
        let mut parts = stdout.split(MARK);
        for step in &mut steps {
            step.printed = parts.next().unwrap_or_default().to_owned();
            step.status = parts.next().and_then(|status| status.parse().ok()).unwrap_or(-1);
        }
        (steps, String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn shell(&self, script: &str) -> Output {
        let at = |name: &str| self.folder.path().join(name);
        let path = format!("{}:{}", at("bin").display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("timeout");
        shell.args(["--kill-after=5", "400", "sh", "-c", script]).current_dir(at("here"));
        shell.env("PATH", path).env("HOME", at("home")).env("CONTEND_ARCHIVE", at("archive.git"));
        shell.env_remove("XDG_DATA_HOME").env("NO_COLOR", "1").output().expect("a shell")
    }
}

/// Returns the name of this machine, as a word.
fn here() -> String {
    format!(" {} ", rustix::system::uname().nodename().to_string_lossy())
}

/// Returns a requirement of a block that this machine lacks.
pub fn lacking(block: &Block) -> Option<&str> {
    let found = |program: &str| {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| folder.join(program).exists())
    };
    let is_here = |need: &str| match need {
        "root" => rustix::process::geteuid().is_root(),
        // No program has a blank in its name.
        need if need.contains(' ') => false,
        need => found(need),
    };
    block.notes.needs.iter().map(String::as_str).find(|need| !is_here(need))
}

/// Returns the steps of a block.
///
/// The lines that begin with `$ ` are commands; one that ends in `\` continues in the next line.
pub fn steps(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for line in block.text.lines() {
        if goes_on {
            let step = steps.last_mut().unwrap();
            step.command = format!("{} {}", step.command.trim_end_matches('\\').trim_end(), line.trim());
            goes_on = line.ends_with('\\');
        } else if let Some(command) = line.strip_prefix("$ ") {
            goes_on = command.ends_with('\\');
            steps.push(Step { command: command.to_owned(), shown: Vec::new(), printed: String::new(), status: 0 });
        } else {
            let step = steps.last_mut().unwrap_or_else(|| panic!("{}: no command first", block.place));
            step.shown.push(line.to_owned());
        }
    }
    assert!(!steps.is_empty(), "{}: no command in it", block.place);
    steps
}

/// Returns the command with these flags. The report of a traced program is on stderr, with messages that are not compared.
fn as_run(command: &str, flags: &[String]) -> String {
    if !command.starts_with("contend trace ") {
        return with_flags(command, flags);
    }
    with_flags(command, &[flags, &["--quiet".to_owned()]].concat()) + " 2>&1"
}

/// Returns the command with these flags, where it measures something.
fn with_flags(command: &str, flags: &[String]) -> String {
    let Some(call) = ["contend", "cargo run --release"].iter().find_map(|call| command.strip_prefix(call)) else {
        return command.to_owned();
    };
    let first = call.trim_start().split(' ').next().unwrap_or_default();
    let measures = first.is_empty()
        || first.starts_with(['-', '#'])
        || first == "survey"
        || experiments::ALL.iter().any(|entry| entry.name.split(' ').next() == Some(first));
    if !measures {
        return command.to_owned();
    }
    let ends = [" -- ", " | ", " > ", " >", " && ", ";", " #"];
    let from = command.len() - call.len();
    let end = ends.iter().filter_map(|end| call.find(end)).min().map_or(command.len(), |end| from + end);
    let (words, rest) = command.split_at(end);
    let mut words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    for flag in flags.chunks(2) {
        match words.iter().position(|word| *word == flag[0]) {
            Some(place) if flag.len() > 1 => words[place + 1] = &flag[1],
            Some(_) => {}
            None => words.extend(flag.iter().map(String::as_str)),
        }
    }
    words.join(" ") + rest
}
