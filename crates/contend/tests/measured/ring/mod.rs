//! `contend ring` through its binary.

mod ends;
mod faults;
mod figures;

use crate::command::{contend, results};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

/// Returns the rows of contestants, without the limits.
fn contestants(record: &Value) -> Vec<&Value> {
    results(record).iter().filter(|row| row["class"] != "limit").collect()
}

fn row<'a>(record: &'a Value, contestant: &str) -> &'a Value {
    let found = results(record).iter().find(|row| row["contestant"] == contestant && row["large"] == false);
    found.unwrap_or_else(|| panic!("{contestant} has no row"))
}

/// Adds the flags of a short run, in which a busy machine builds a program and repeats each of some cells.
fn quick<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["ring", "--seconds", "6"], arguments].concat()
}

/// Returns a directory with a recipe and one script, run by `sh`.
fn shell_contestant(name: &str, script: &str, more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let recipe = format!(
        "language = \"Shell\"\nclass = \"mailbox\"\nscheduler = \"runtime\"\ntools = \"sh\"\npackage = \"dash\"\n\
         run = \"{{tool}} {{out}}/ring.sh\"\nns_per_hop = 1000\nmax_threads = 2000\n{more}\n[[contestant]]\nname = \"{name}\"\n"
    );
    std::fs::write(folder.path().join("recipe.toml"), recipe).unwrap();
    std::fs::write(folder.path().join("ring.sh"), script).unwrap();
    folder
}

fn with_recipe(folder: &Path, arguments: &[&str]) -> Output {
    let folder = folder.to_str().unwrap();
    contend(&quick(
        &[&["--recipe", folder, "--large", "0", "--placement", "free", "--format", "json", "--quiet"], arguments]
            .concat(),
    ))
}
