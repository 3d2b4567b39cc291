//! The files of the book, and which of them are pages of the repository that the book includes unchanged.

use std::fs;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub fn source() -> PathBuf {
    root().join("book/src")
}

pub struct Page {
    /// The path from the repository's root.
    pub name: String,
    /// The text with its includes.
    pub text: String,
}

impl Page {
    fn read(name: &str) -> Self {
        let path = root().join(name);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { name: name.to_owned(), text: included(&text, path.parent().unwrap(), name) }
    }
}

/// Returns the text with the files that it includes as mdBook does, `{{#include PATH}}`, or `PATH:ANCHOR` for a part of
/// one.
fn included(text: &str, folder: &Path, name: &str) -> String {
    let mut parts = text.split("{{#include ");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (path, rest) = part.split_once("}}").unwrap_or_else(|| panic!("{name}: an include without an end"));
        let (file, anchor) = path.split_once(':').map_or((path, None), |(file, anchor)| (file, Some(anchor)));
        let found = fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{name}: {file}: {error}"));
        let part = anchor.map_or(Some(found.as_str()), |anchor| anchored(&found, anchor));
        whole.push_str(part.unwrap_or_else(|| panic!("{name}: {path}: no such part")).trim_end());
        whole.push_str(rest);
    }
    whole
}

/// Returns the lines between `ANCHOR: name` and `ANCHOR_END: name`.
fn anchored<'a>(text: &'a str, anchor: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("ANCHOR: {anchor} "))?;
    let (part, _) = rest.split_once('\n')?.1.split_once(&format!("ANCHOR_END: {anchor}"))?;
    part.rsplit_once('\n').map(|(lines, _)| lines)
}

/// Returns the Markdown files below the book's source, as paths from there.
pub fn files() -> Vec<PathBuf> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|kind| kind == "md") {
                found.push(path.strip_prefix(source()).unwrap().to_owned());
            }
        }
    }
    let mut found = Vec::new();
    collect(&source(), &mut found);
    found.sort();
    found
}

/// Returns whether the file is a page of the repository, at its place in the book: a link to it.
pub fn is_of_the_repository(file: &Path) -> bool {
    source().join(file).is_symlink()
}

/// Returns README.md, and the pages that were written for the book.
pub fn own() -> Vec<Page> {
    let written = files().into_iter().filter(|file| !is_of_the_repository(file) && *file != Path::new("SUMMARY.md"));
    let names = written.map(|file| format!("book/src/{}", file.display()));
    ["README.md".to_owned()].into_iter().chain(names).map(|name| Page::read(&name)).collect()
}

/// Returns the pages of the repository that the book includes.
pub fn of_the_repository() -> Vec<Page> {
    let linked = files().into_iter().filter(|file| is_of_the_repository(file));
    linked.map(|file| Page::read(file.to_str().unwrap())).collect()
}
