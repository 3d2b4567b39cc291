//! The public items of the crate are recorded in `api.txt`, and none is removed without a new version.
//!
//! `CONTEND_RENEW=1` rewrites the file. It refuses to omit an item unless Cargo treats the version as incompatible
//! with the recorded one. The test reads the sources as `rustfmt` formats them.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// A block that contains the current line: the text before it, and whether it is for tests or the model checker.
struct Block {
    head: String,
    hidden: bool,
}

/// Returns the public items of a file: declarations without bodies, all items of traits and enums, implementations of
/// traits.
fn items(source: &str) -> Vec<String> {
    let (mut items, mut blocks) = (Vec::new(), Vec::<Block>::new());
    let (mut text, mut attributes) = (String::new(), String::new());
    for line in source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        if line.starts_with('}') && is_balanced(&text) {
            blocks.pop();
            text.clear();
        }
        text = format!("{text} {line}").trim().to_owned();
        if is_balanced(&text) && text.starts_with('#') && text.ends_with(']') {
            attributes += &std::mem::take(&mut text);
        }
        if !is_balanced(&text) || !text.ends_with(['{', '}', ';', ',']) {
            continue;
        }
        let hidden = blocks.iter().any(|block| block.hidden)
            || ["cfg(loom)", "cfg(test)", "doc(hidden)"].iter().any(|not| attributes.contains(not));
        let around = blocks.iter().rev().map(|block| block.head.as_str()).find(|head| is_named(head)).unwrap_or("");
        let is_part = blocks
            .last()
            .is_some_and(|block| ["pub trait", "pub enum", "pub use"].iter().any(|head| block.head.starts_with(head)));
        let of_a_trait = text.contains("impl") && text.contains(" for ") && text.ends_with('{');
        let is_public = text.starts_with("pub ") || is_part || of_a_trait || text.starts_with("raw_");
        if is_public && !hidden && !text.starts_with('}') {
            let is_relevant = ["derive", "feature"].iter().any(|kind| attributes.contains(kind));
            let attributes = if is_relevant { attributes.as_str() } else { "" };
            items.push(format!("{around} {attributes} {}", declared(&text)).trim().to_owned());
        }
        if text.ends_with('{') {
            blocks.push(Block { head: declared(&text), hidden });
        }
        text.clear();
        attributes.clear();
    }
    items
}

fn is_balanced(text: &str) -> bool {
    [('(', ')'), ('[', ']')].iter().all(|&(open, close)| text.matches(open).count() == text.matches(close).count())
}

/// Returns whether a block has a name, in contrast to a body or the arguments of a macro.
fn is_named(head: &str) -> bool {
    ["pub ", "impl", "unsafe impl"].iter().any(|start| head.starts_with(start))
}

/// Returns a declaration without its body, and without the private functions that a macro is given.
fn declared(text: &str) -> String {
    let head = text.split(" {").next().unwrap().trim_end_matches(['{', ';', ',', ' ']);
    match head.split_once(", Self::") {
        Some((public, _)) => format!("{public})"),
        None => head.to_owned(),
    }
}

/// Returns the part of the version that Cargo compares for compatibility.
fn compatible(version: &str) -> Vec<&str> {
    let parts: Vec<&str> = version.split('.').collect();
    let significant = parts.iter().position(|&part| part != "0").unwrap_or(2) + 1;
    parts[..significant].to_vec()
}

#[test]
fn public_items_are_never_removed_within_a_version() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = sources(&package.join("src"))
        .into_iter()
        .filter(|path| !path.ends_with("model.rs") && !path.ends_with("explore.rs"));
    let now: BTreeSet<String> = all.flat_map(|path| items(&fs::read_to_string(path).unwrap())).collect();
    assert!(now.iter().any(|item| item.ends_with("pub fn try_lock_for(&self, timeout: core::time::Duration) -> bool")));
    let file = package.join("api.txt");
    let written = fs::read_to_string(&file).unwrap_or_else(|_| env!("CARGO_PKG_VERSION").to_owned());
    let (version, items) = written.split_once('\n').unwrap_or((&written, ""));
    let before: BTreeSet<String> = items.lines().map(str::to_owned).collect();
    let removed: Vec<&String> = before.difference(&now).collect();
    let new: Vec<&String> = now.difference(&before).collect();
    let is_another = compatible(version) != compatible(env!("CARGO_PKG_VERSION"));
    assert!(removed.is_empty() || is_another, "{version} had what is gone, which takes another version: {removed:#?}");
    if env::var_os("CONTEND_RENEW").is_some() {
        let lines: Vec<&str> = now.iter().map(String::as_str).collect();
        fs::write(&file, format!("{}\n{}\n", env!("CARGO_PKG_VERSION"), lines.join("\n"))).unwrap();
        return;
    }
    let changed = [removed, new].concat();
    assert!(changed.is_empty(), "CONTEND_RENEW=1 writes this into {}: {changed:#?}", file.display());
}

#[test]
fn versions_are_compatible_by_the_rules_of_cargo() {
    assert_eq!(compatible("0.1.0"), compatible("0.1.7"));
    assert_ne!(compatible("0.1.0"), compatible("0.2.0"));
    assert_eq!(compatible("1.2.0"), compatible("1.3.0"));
    assert_ne!(compatible("0.0.1"), compatible("0.0.2"));
}
