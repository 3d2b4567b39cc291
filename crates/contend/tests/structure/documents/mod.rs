//! Links and paths in the documents lead to existing targets.

mod prose;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::path::{Path, PathBuf};
use std::{env, fs};

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

// Each decision has the same parts, and the index lists all of them by their titles.

const PARTS: [&str; 4] = ["## Context", "## Decision", "## Consequences", "## Alternatives considered"];

const HEAD: &str = "# Decisions

One file for each decision: context, decision, consequences, and the alternatives considered.
This list is generated from the titles: `CONTEND_RENEW=1 cargo test -p contend --test structure the_index` writes it.
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

// Every method page (`method.md`) has the same outline, and is short enough to be read at once.

/// The chapters of a page, in their order.
const OUTLINE: [&str; 6] = ["Definitions", "Method", "Output", "Interpretation", "Validation", "Limits"];

const MOST_WORDS: usize = 1_500;

/// The pages, by their path from the root. A page of the book that is a link to one is not a second page.
fn pages() -> Vec<(String, String)> {
    let is_page = |file: &PathBuf| file.ends_with("method.md") && !file.is_symlink();
    let pages: Vec<(String, String)> = documents()
        .into_iter()
        .filter(is_page)
        .map(|file| (file.strip_prefix(root()).unwrap().display().to_string(), fs::read_to_string(&file).unwrap()))
        .collect();
    assert!(pages.len() > 12, "only {} method pages were found", pages.len());
    pages
}

/// The number of words: pieces between white space that contain a letter or a digit.
fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// A heading, a paragraph, a block of code or an item of a list.
#[derive(Debug, PartialEq)]
enum Block {
    Title(String),
    Chapter(String),
    Emphasised(String),
    Paragraph(String),
    Code,
    Item,
}

/// The blocks of a page, without what they consist of.
fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut words, mut is_emphasised) = (Vec::new(), String::new(), false);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Paragraph | Tag::Heading { .. }) => (words, is_emphasised) = (String::new(), false),
            Event::Start(Tag::Emphasis) => is_emphasised |= words.is_empty(),
            Event::Start(Tag::CodeBlock(_)) => blocks.push(Block::Code),
            Event::Start(Tag::Item) => blocks.push(Block::Item),
            Event::Text(text) | Event::Code(text) => words.push_str(&text),
            Event::End(TagEnd::Heading(HeadingLevel::H1)) => blocks.push(Block::Title(words.clone())),
            Event::End(TagEnd::Heading(HeadingLevel::H2)) => blocks.push(Block::Chapter(words.clone())),
            Event::End(TagEnd::Paragraph) if is_emphasised => blocks.push(Block::Emphasised(words.clone())),
            Event::End(TagEnd::Paragraph) => blocks.push(Block::Paragraph(words.clone())),
            _ => {}
        }
    }
    blocks
}

/// The first deviation of a page from the outline, if there is one.
fn deviation(text: &str) -> Option<String> {
    let blocks = blocks(text);
    let is_chapter = |block: &Block| matches!(block, Block::Chapter(_));
    let first = blocks.iter().position(is_chapter).unwrap_or(blocks.len());
    let [Block::Title(title), Block::Emphasised(question), Block::Paragraph(origin), ..] = &blocks[..first] else {
        return Some("begins with a title, a question in emphasis, and its origin".into());
    };
    let chapters: Vec<&str> = blocks
        .iter()
        .filter_map(|block| if let Block::Chapter(heading) = block { Some(heading.as_str()) } else { None })
        .collect();
    let validation = text.split("\n## ").find(|chapter| chapter.starts_with("Validation\n")).unwrap_or_default();
    let limits = blocks.iter().rposition(is_chapter).map_or(&[][..], |last| &blocks[last + 1..]);
    let is_list = matches!(limits, [Block::Paragraph(words), Block::Item, ..] if words.ends_with("cannot:"));
    [
        (title.starts_with("contend "), format!("the title {title:?} is not the command")),
        (question.ends_with('?'), format!("{question:?} is not a question")),
        (origin.starts_with("Based on "), format!("{origin:?} is not an origin: \"Based on …\"")),
        (blocks[..first].contains(&Block::Code), "no synopsis before the first chapter".to_owned()),
        (chapters == OUTLINE, format!("the chapters are {chapters:?}, not {OUTLINE:?}")),
        (
            links(validation).iter().any(|link| link.contains("docs/validation/")),
            "the validation has no link to its page in docs/validation".to_owned(),
        ),
        (is_list, "the limits are not a list after \"… cannot:\"".to_owned()),
    ]
    .into_iter()
    .find_map(|(is_met, fault)| (!is_met).then_some(fault))
}

#[test]
fn every_method_page_has_at_most_1500_words() {
    let long: Vec<String> = pages()
        .into_iter()
        .map(|(page, text)| (page, words(&text)))
        .filter(|&(_, words)| words > MOST_WORDS)
        .map(|(page, words)| format!("{page}: {words} words; move data of validation runs to docs/validation"))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn every_method_page_has_the_outline() {
    let faults: Vec<String> =
        pages().iter().filter_map(|(page, text)| Some(format!("{page}: {}", deviation(text)?))).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_deviation_from_the_outline_is_found() {
    const PAGE: &str = "# contend x\n\n*Why?*\n\nBased on y.\n\n    contend x\n\n## Definitions\n\n## Method\n\n### Setup\n\n\
                        ## Output\n\n## Interpretation\n\n## Validation\n\nGood: [x](../docs/validation/x.md).\n\n## Limits\n\n\
                        The experiment cannot:\n\n- see y.\n";
    assert_eq!(deviation(PAGE), None);
    for (part, instead, fault) in [
        ("# contend x", "# The x", "title"),
        ("*Why?*", "*Because.*", "question"),
        ("*Why?*\n\n", "", "begins with"),
        ("Based on y.", "After y.", "origin"),
        ("    contend x\n\n", "", "synopsis"),
        ("## Output\n\n", "", "chapters"),
        ("## Method", "## Limits", "chapters"),
        ("[x](../docs/validation/x.md)", "x", "validation"),
        ("- see y.", "See y.", "list"),
    ] {
        let found = deviation(&PAGE.replace(part, instead)).unwrap_or_default();
        assert!(found.contains(fault), "{part:?} as {instead:?}: {found:?}");
    }
    assert_eq!(words("- **One** two – three_3 | `4` ## -"), 4);
}
