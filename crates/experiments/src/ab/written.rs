//! Files that a command writes, seen by the changes in its directory.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files of a directory, each with what changes when it is written.
pub struct Snapshot(BTreeMap<PathBuf, [i64; 4]>);

/// Files deeper than this, and more files than this, are not looked at.
const DEPTH: usize = 3;
const MOST: usize = 5_000;

impl Snapshot {
    /// Looks at the directory, without hidden directories in it.
    pub fn of(directory: &Path) -> Self {
        let mut files = BTreeMap::new();
        add(&directory.canonicalize().unwrap_or_else(|_| directory.to_owned()), DEPTH, &mut files);
        Self(files)
    }

    /// Returns the files that are new or changed since an earlier look.
    pub fn changed_since(&self, before: &Self) -> Vec<PathBuf> {
        let is_changed = |(path, state): &(&PathBuf, &[i64; 4])| before.0.get(*path) != Some(*state);
        self.0.iter().filter(is_changed).map(|(path, _)| path.clone()).collect()
    }
}

fn add(directory: &Path, depth: usize, files: &mut BTreeMap<PathBuf, [i64; 4]>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(found) = entry.metadata() else { continue };
        if files.len() >= MOST {
            return;
        }
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if found.is_dir() && depth > 0 && !is_hidden {
            add(&entry.path(), depth - 1, files);
        } else if found.is_file() {
            files.insert(entry.path(), [found.ino() as i64, found.size() as i64, found.mtime(), found.mtime_nsec()]);
        }
    }
}
