//! Puts the sources of the thread ring's contestants into the library, so that an installed command has them.

use std::fs;
use std::path::{Path, PathBuf};

const DIRECTORY: &str = "contestants";

/// Writes a list of (path below the directory, content) for every file of every contestant.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Cargo looks at every file below a directory.
    println!("cargo::rerun-if-changed={DIRECTORY}");
    let top = fs::canonicalize(DIRECTORY).expect("the contestants have a directory next to the crates");
    let mut files: Vec<PathBuf> =
        listed(&top).into_iter().filter(|path| path.is_dir()).flat_map(|directory| listed(&directory)).collect();
    files.sort();
    let entry = |path: &PathBuf| {
        let name = path.strip_prefix(&top).expect("the file is below the directory");
        format!("    ({:?}, include_str!({:?})),\n", name, path)
    };
    let list: String = files.iter().filter(|path| path.is_file()).map(entry).collect();
    let out = Path::new(&std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("contestants.rs");
    fs::write(out, format!("&[\n{list}]\n")).expect("OUT_DIR can be written");
}

fn listed(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory of contestants can be read");
    entries.map(|entry| entry.expect("its entries can be read").path()).collect()
}
