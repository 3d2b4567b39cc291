//! The code blocks of a page, each with the notes for its test in the comment above it.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// The notes in a comment `<!-- test … -->` right above a block, a line each.
///
/// The comment is not rendered.
#[derive(Default)]
pub struct Notes {
    /// `flags: --seconds 1`: replaces the values of these flags, or adds them, where something is measured.
    pub flags: Vec<String>,
    /// `by chance: REGEX`: a line that only some runs print.
    pub by_chance: Vec<String>,
    /// `others: WHY`: other lines may be printed.
    pub others: bool,
    /// `needs: git sysbench`: programs, or `root`, or something that no test has: `the network`.
    pub needs: Vec<String>,
    /// `exits: 0 or 3`: the allowed exit status of the last command; the default is 0.
    pub exits: Vec<i32>,
}

pub struct Block {
    /// The page and the line.
    pub place: String,
    /// The info string of the fence; `None` of an indented block.
    pub info: Option<String>,
    pub text: String,
    pub notes: Notes,
    /// The page up to here.
    pub above: String,
}

impl Notes {
    fn read(comment: &str, place: &str) -> Self {
        let mut notes = Self::default();
        let Some(lines) = comment.trim().strip_prefix("<!-- test") else { return notes };
        for line in lines.trim_end_matches("-->").lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (key, value) = line.split_once(": ").unwrap_or_else(|| panic!("{place}: {line}"));
            match key {
                "flags" => notes.flags = value.split(' ').map(str::to_owned).collect(),
                "by chance" => notes.by_chance.push(value.to_owned()),
                "others" => notes.others = true,
                "needs" => notes.needs = value.split(", ").map(str::to_owned).collect(),
                "exits" => notes.exits = value.split(" or ").map(|status| status.parse().unwrap()).collect(),
                other => panic!("{place}: what is '{other}'?"),
            }
        }
        notes
    }
}

/// Returns all code blocks of a page.
pub fn of(page: &str, text: &str) -> Vec<Block> {
    let (mut blocks, mut comment, mut open) = (Vec::new(), String::new(), false);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::HtmlBlock) => comment.clear(),
            Event::Html(html) => comment.push_str(&html),
            Event::End(TagEnd::HtmlBlock) => {}
            Event::Start(Tag::CodeBlock(kind)) => {
                let place = format!("{page}:{}", text[..range.start].lines().count() + 1);
                let info = match kind {
                    CodeBlockKind::Fenced(info) => Some(info.into_string()),
                    CodeBlockKind::Indented => None,
                };
                let (notes, above) = (Notes::read(&comment, &place), text[..range.start].to_owned());
                blocks.push(Block { place, info, text: String::new(), notes, above });
                open = true;
            }
            Event::Text(code) if open => blocks.last_mut().unwrap().text.push_str(&code),
            Event::End(TagEnd::CodeBlock) => {
                open = false;
                comment.clear();
            }
            _ => comment.clear(),
        }
    }
    blocks
}
