//! A bare repository with clones, on which the recipes for CI run as a CI runs them, with the binary under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A repository, and a clone of it.
pub struct Forge {
    folder: TempDir,
}

impl Forge {
    pub fn new() -> Self {
        let forge = Self { folder: tempfile::tempdir().unwrap() };
        let path = |name: &str| forge.path(name).to_str().unwrap().to_owned();
        forge.git(".", &["init", "--bare", "--quiet", &path("origin.git")]);
        forge.clone("main");
        forge.git("main", &["commit", "--quiet", "--allow-empty", "-m", "first"]);
        forge.git("main", &["push", "--quiet", "origin", "HEAD:main"]);
        forge
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn clone(&self, name: &str) {
        self.git(".", &["clone", "--quiet", "origin.git", name]);
    }

    pub fn git(&self, folder: &str, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(self.path(folder)).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        let output = git.output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs the recipe in a clone, with these variables.
    pub fn recipe(&self, clone: &str, mode: &str, variables: &[(&str, &str)]) -> Output {
        let mut recipe = Command::new(recipes().join("contend-ci"));
        recipe.arg(mode).current_dir(self.path(clone)).env("CONTEND", env!("CARGO_BIN_EXE_contend"));
        recipe.envs(variables.iter().copied()).output().unwrap()
    }
}

pub fn recipes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/ci")
}

pub fn all_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

pub fn assert_ends(output: &Output, status: i32) {
    assert_eq!(output.status.code(), Some(status), "{}", all_of(output));
}
