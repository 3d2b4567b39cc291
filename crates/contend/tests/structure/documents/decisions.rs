//! Each decision has the same parts, and the index lists all of them by their titles.

use super::root;
use std::path::{Path, PathBuf};
use std::{env, fs};

const PARTS: [&str; 4] = ["## Context", "## Decision", "## Consequences", "## Alternatives considered"];

const HEAD: &str = "# Decisions

One file for each decision: context, decision, consequences, and the alternatives considered.
This list is generated from the titles: `CONTEND_RENEW=1 cargo test -p contend --test structure decisions` writes it.
";

fn directory() -> PathBuf {
    root().join("docs/decisions")
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The decisions of each subject: a directory, or none for those of the whole project, which come last.
fn subjects() -> Vec<(String, Vec<PathBuf>)> {
    let (directories, files): (Vec<PathBuf>, Vec<PathBuf>) =
        entries(&directory()).into_iter().partition(|path| path.is_dir());
    let of_all = files.into_iter().filter(|file| !file.ends_with("README.md")).collect();
    let subject = |directory: PathBuf| {
        let words = directory.file_name().unwrap().to_str().unwrap().replace('-', " ");
        (words[..1].to_uppercase() + &words[1..], entries(&directory))
    };
    directories.into_iter().map(subject).chain([("Everywhere".to_owned(), of_all)]).collect()
}

fn title(decision: &Path) -> String {
    let text = fs::read_to_string(decision).unwrap();
    text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default().to_owned()
}

fn index() -> String {
    let mut index = HEAD.to_owned();
    for (subject, decisions) in subjects() {
        index += &format!("\n## {subject}\n\n");
        for decision in decisions {
            let path = decision.strip_prefix(directory()).unwrap().display();
            index += &format!("- [{}]({path})\n", title(&decision));
        }
    }
    index
}

#[test]
fn each_decision_has_its_parts_in_order() {
    let decisions: Vec<PathBuf> = subjects().into_iter().flat_map(|(_, decisions)| decisions).collect();
    assert!(decisions.len() > 50, "only {} decisions were found", decisions.len());
    for decision in decisions {
        let text = fs::read_to_string(&decision).unwrap();
        let parts: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(parts, PARTS, "{}", decision.display());
        for part in text.split("\n## ").skip(1) {
            let (heading, content) = part.split_once('\n').unwrap_or((part, ""));
            assert!(!content.trim().is_empty(), "{}: nothing below {heading}", decision.display());
        }
    }
}

#[test]
fn the_index_lists_each_decision_by_its_title() {
    let file = directory().join("README.md");
    if env::var_os("CONTEND_RENEW").is_some() {
        fs::write(&file, index()).unwrap();
    }
    let listed = fs::read_to_string(&file).unwrap();
    let missing: Vec<String> = index().lines().filter(|line| !listed.contains(*line)).map(str::to_owned).collect();
    assert!(listed == index(), "{}: generate it again; it lacks:\n{}", file.display(), missing.join("\n"));
}
