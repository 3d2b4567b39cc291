//! The documents point to what is there.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every Markdown file that is the project's own.
fn documents() -> Vec<PathBuf> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                collect(&path, found);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(&root(), &mut found);
    found
}

/// What stands between `open` and the next `close`, wherever that is in the text.
fn between<'a>(text: &'a str, open: &str, close: char) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|rest| rest.split_once(close)).map(|(inner, _)| inner).collect()
}

#[test]
fn every_relative_link_leads_somewhere() {
    let (mut links, mut broken) = (0, Vec::new());
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for target in between(&text, "](", ')').into_iter().filter(|target| !target.contains("://")) {
            let (path, _) = target.split_once('#').unwrap_or((target, ""));
            links += 1;
            if !path.is_empty() && !document.parent().unwrap().join(path).exists() {
                broken.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(links > 100, "only {links} links were found");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_path_of_the_project_that_is_named_is_there() {
    let (mut paths, mut missing) = (0, Vec::new());
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for path in between(&text, "`crates/", '`') {
            // A place for something that is yet to come, or several at once.
            if path.contains(['<', '*', ' ', '{']) || path.contains("NAME") {
                continue;
            }
            paths += 1;
            if !root().join("crates").join(path).exists() {
                missing.push(format!("{}: crates/{path}", document.display()));
            }
        }
    }
    assert!(paths > 40, "only {paths} paths were found");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn architecture_fits_on_a_screen_or_two() {
    let lines = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap().lines().count();
    assert!(lines <= 80, "{lines} lines: a decision belongs into docs/decisions");
}
