//! Links and paths in the documents lead to existing targets.

mod decisions;
mod methods;
mod prose;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns every Markdown file of the project.
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

/// Returns the text between `open` and the next `close`, at every place.
fn between<'a>(text: &'a str, open: &str, close: char) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|rest| rest.split_once(close)).map(|(inner, _)| inner).collect()
}

/// Returns the targets of a page's links and pictures.
fn links(text: &str) -> Vec<String> {
    let of = |event: Event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    };
    Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(of).collect()
}

/// Returns the anchors of a page's headings, as GitHub and mdBook make them: words in lower case, with hyphens for
/// blanks.
fn anchors(text: &str) -> Vec<String> {
    let (mut anchors, mut heading) = (Vec::new(), None::<String>);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(words) | Event::Code(words) => heading.iter_mut().for_each(|heading| heading.push_str(&words)),
            Event::End(TagEnd::Heading(_)) => anchors.extend(heading.take().map(|heading| anchor(&heading))),
            _ => {}
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect::<String>().to_lowercase()
}

#[test]
fn every_relative_link_has_a_target() {
    let (mut found, mut to_headings, mut broken) = (0, 0, Vec::new());
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for target in links(&text).into_iter().filter(|target| !target.contains("://")) {
            let (path, heading) = target.split_once('#').unwrap_or((&target, ""));
            let leads = if path.is_empty() { document.clone() } else { document.parent().unwrap().join(path) };
            found += 1;
            let is_there = if heading.is_empty() {
                leads.exists()
            } else {
                to_headings += 1;
                fs::read_to_string(leads).is_ok_and(|page| anchors(&page).iter().any(|anchor| anchor == heading))
            };
            if !is_there {
                broken.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(found > 100 && to_headings > 5, "only {found} links were found, {to_headings} of them to headings");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_named_path_of_the_project_exists() {
    let (mut paths, mut missing) = (0, Vec::new());
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let named = |directory: &str| {
            let start = format!("`{directory}/");
            between(&text, &start, '`').into_iter().map(|path| format!("{directory}/{path}")).collect::<Vec<String>>()
        };
        for path in ["crates", "libs"].into_iter().flat_map(named) {
            // A placeholder, or several paths at once.
            if path.contains(['<', '*', ' ', '{']) || path.contains("NAME") {
                continue;
            }
            paths += 1;
            if !root().join(&path).exists() {
                missing.push(format!("{}: {path}", document.display()));
            }
        }
    }
    assert!(paths > 40, "only {paths} paths were found");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn architecture_has_at_most_the_allowed_lines() {
    let lines = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap().lines().count();
    assert!(lines <= 80, "{lines} lines: a decision belongs into docs/decisions");
}
