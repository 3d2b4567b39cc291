//! `contend ab`: what it runs, finds, records and leaves behind.

mod differences;
mod failures;
mod outputs;
mod recipe;
mod revisions;
mod runs;

use crate::command::contend;
use std::process::Output;

/// `contend ab` with these arguments, which end well or not.
fn ab(arguments: &[&str]) -> Output {
    contend(&[&["ab", "--quiet"], arguments].concat())
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A directory for the files of a test, and its path.
fn place() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap().to_owned();
    (directory, path)
}
