//! A workspace of a few lines, written into a folder of its own: what is wrong with it is known.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

pub struct Workspace(TempDir);

impl Workspace {
    /// Of these files. A crate that comes without a manifest gets one; its name is that of its folder.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let workspace = Self(tempfile::tempdir().unwrap());
        let crates: BTreeSet<&str> = files.iter().filter_map(|(path, _)| Some(path.split_once("/src/")?.0)).collect();
        let members: Vec<String> = crates.iter().map(|folder| format!("{folder:?}")).collect();
        workspace.write("Cargo.toml", &format!("[workspace]\nmembers = [{}]\n", members.join(", ")));
        for folder in crates {
            let name = Path::new(folder).file_name().unwrap().display();
            workspace.write(&format!("{folder}/Cargo.toml"), &format!("[package]\nname = \"{name}\"\n"));
        }
        files.iter().for_each(|(path, text)| workspace.write(path, text));
        workspace
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}
