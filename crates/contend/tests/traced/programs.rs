//! The traced programs, each compiled once, and the output of `contend trace` on them.

use super::command::{held, read};
use serde_json::Value;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
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

    /// Compiles `tests/trace/NAME.c` into this directory.
    ///
    /// Without a compiler, prints that it is missing and returns `None`.
    pub fn compiled(&self, name: &str, flags: &[&str]) -> Option<PathBuf> {
        let program = self.path(name);
        // A file that this process writes could not be executed while another test starts a program: `cp` writes it.
        let copied = Command::new("cp").arg(built(name, flags)?).arg(&program).status();
        assert!(copied.is_ok_and(|status| status.success()), "cannot copy {name}");
        Some(program)
    }
}

/// Returns a compiled program, which the tests of this process share; `None` without a compiler.
fn built(name: &str, flags: &[&str]) -> Option<&'static Path> {
    type Built = OnceLock<Option<PathBuf>>;
    static BUILT: Mutex<BTreeMap<String, &Built>> = Mutex::new(BTreeMap::new());
    let key = [&[name], flags].concat().join(" ");
    let mut all = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let cell = *all.entry(key).or_insert_with(|| Box::leak(Box::default()));
    drop(all);
    cell.get_or_init(|| build(name, flags)).as_deref()
}

fn build(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/trace/{name}.c"));
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traced");
    std::fs::create_dir_all(&directory).unwrap();
    let mut hash = DefaultHasher::new();
    flags.hash(&mut hash);
    let program = directory.join(format!("{name}-{:x}", hash.finish()));
    // Another process of these tests may execute the program at the same time.
    let draft = program.with_extension(std::process::id().to_string());
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-O1", "-pthread", "-o"]).arg(&draft).arg(source).args(flags);
    let Ok(output) = compiler.output() else {
        println!("skipped: needs cc");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(draft, &program).unwrap();
    Some(program)
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
