//! The watched programs, compiled once a test program, and what `contend trace` says of them.

use super::command::{held, read};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A directory with compiled programs.
pub struct Programs(TempDir);

impl Programs {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles `tests/trace/NAME.c`; `None`, and it is said, where there is no compiler.
    pub fn compiled(&self, name: &str, flags: &[&str]) -> Option<PathBuf> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/trace/{name}.c"));
        let program = self.path(name);
        let mut compiler = Command::new("cc");
        compiler.args(["-g", "-O1", "-pthread", "-o"]).arg(&program).arg(source).args(flags);
        let Ok(output) = compiler.output() else {
            println!("skipped: needs cc");
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(program)
    }
}

/// Returns the command `contend trace` with these flags on a program.
pub fn command(flags: &[&str], program: &Path, arguments: &[&str]) -> Command {
    held::reports();
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env("CONTEND_ARCHIVE", "").arg("trace").args(flags).arg("--").arg(program).args(arguments);
    command.stdin(Stdio::null());
    command
}

/// The output and the record of a run.
pub struct Traced {
    pub output: Output,
    pub record: Value,
}

/// Runs it to its end; the record goes to a file, since stdout is the program's.
pub fn traced(programs: &Programs, flags: &[&str], program: &Path, arguments: &[&str]) -> Traced {
    let file = programs.path("record.json");
    let flags = [flags, &["--format", "json", "--output", file.to_str().unwrap()]].concat();
    let output = command(&flags, program, arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let bytes = std::fs::read(&file).unwrap_or_else(|_| panic!("no record: {stderr}"));
    Traced { output, record: read(&bytes) }
}

impl Traced {
    pub fn rows(&self, kind: &str) -> Vec<&Value> {
        self.record["results"].as_array().unwrap().iter().filter(|row| row["kind"] == kind).collect()
    }

    pub fn lock(&self, name: &str) -> &Value {
        let found = self.rows("lock").into_iter().find(|row| row["lock"] == name);
        found.unwrap_or_else(|| panic!("no lock {name} in {:#}", self.record["results"]))
    }
}
