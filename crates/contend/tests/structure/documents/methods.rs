//! Every method page (`method.md`) has the same outline, and is short enough to be read at once.

use super::{documents, links, root};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::fs;
use std::path::PathBuf;

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
