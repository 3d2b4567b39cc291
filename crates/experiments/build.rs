//! Puts the sources of the thread ring's contestants into the library, so that an installed command has them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    contestants::embed();
}

mod contestants {
    use std::fs;
    use std::path::{Path, PathBuf};

    const FOLDER: &str = "contestants";

    /// Writes a list of (path below the folder, content) for every file of every contestant.
    pub fn embed() {
        // Of a folder, cargo looks at every file below it.
        println!("cargo::rerun-if-changed={FOLDER}");
        let top = fs::canonicalize(FOLDER).expect("the contestants have a directory next to the crates");
        let mut files: Vec<PathBuf> =
            listed(&top).into_iter().filter(|path| path.is_dir()).flat_map(|f| listed(&f)).collect();
        files.sort();
        let entry = |path: &PathBuf| {
            let name = path.strip_prefix(&top).expect("the file is below the directory");
            format!("    ({:?}, include_str!({:?})),\n", name, path)
        };
        let list: String = files.iter().filter(|path| path.is_file()).map(entry).collect();
        let out = Path::new(&std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("contestants.rs");
        fs::write(out, format!("&[\n{list}]\n")).expect("OUT_DIR can be written");
    }

    fn listed(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a directory of contestants can be read");
        entries.map(|entry| entry.expect("its entries can be read").path()).collect()
    }
}
