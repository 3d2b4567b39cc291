//! The folders of contestants: those that are part of this program, and one that the user names.

use anyhow::Context;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// (path below `contestants/`, content)
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/contestants.rs"));

/// A file of a contestant's folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The name of the folder that it is in.
    pub folder: String,
    pub name: PathBuf,
    pub content: Vec<u8>,
}

/// The files that are part of this program, folder by folder.
pub fn embedded() -> Vec<Source> {
    let source = |&(path, content): &(&str, &str)| {
        let (folder, name) = path.split_once('/').expect("every contestant has a directory");
        Source { folder: folder.to_owned(), name: name.into(), content: content.into() }
    };
    EMBEDDED.iter().map(source).collect()
}

/// The files in a folder of the user's, which has a recipe.
///
/// # Errors
/// The folder cannot be read, or has no recipe.
pub fn in_folder(path: &Path) -> anyhow::Result<Vec<Source>> {
    let read = || -> io::Result<Vec<Source>> {
        let mut sources = Vec::new();
        for entry in fs::read_dir(path)? {
            let file = entry?.path();
            if let Some(name) = file.file_name().filter(|_| file.is_file()) {
                let content = fs::read(&file)?;
                sources.push(Source { folder: path.display().to_string(), name: name.into(), content });
            }
        }
        Ok(sources)
    };
    let sources = read().with_context(|| format!("--recipe {}", path.display()))?;
    anyhow::ensure!(
        sources.iter().any(|source| source.name == Path::new("recipe.toml")),
        "--recipe {}: the directory has no recipe.toml",
        path.display()
    );
    Ok(sources)
}
