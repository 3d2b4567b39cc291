//! Markdown as people read it in a terminal: its paragraphs folded to the page, all else as it is.

use crate::page::Page;
use textwrap::{Options, fill};

/// Sentences that stand on lines of their own become paragraphs that fit the page; code, tables and headings stay.
pub fn folded(markdown: &str, page: &Page) -> String {
    let mut folded = String::with_capacity(markdown.len());
    let mut paragraph = Paragraph::default();
    let mut in_fence = false;
    for line in markdown.lines() {
        let is_fence = line.starts_with("```");
        if in_fence || is_fence || is_fixed(line) {
            paragraph.end(&mut folded, page);
            folded.push_str(line);
            folded.push('\n');
            in_fence ^= is_fence;
            continue;
        }
        if line.starts_with("- ") {
            paragraph.end(&mut folded, page);
        }
        paragraph.add(line);
    }
    paragraph.end(&mut folded, page);
    folded
}

/// Whether a line is no part of a paragraph.
fn is_fixed(line: &str) -> bool {
    line.is_empty() || ["#", "|", "    "].iter().any(|mark| line.starts_with(mark))
}

/// Lines that belong together.
#[derive(Default)]
struct Paragraph {
    text: String,
}

impl Paragraph {
    fn add(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(line.trim());
    }

    fn end(&mut self, folded: &mut String, page: &Page) {
        if self.text.is_empty() {
            return;
        }
        // What follows in an item of a list stands below its first word.
        let indent = if self.text.starts_with("- ") { "  " } else { "" };
        folded.push_str(&fill(&self.text, Options::new(page.width).subsequent_indent(indent).break_words(false)));
        folded.push('\n');
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_become_paragraphs_that_fit_the_page() {
        let text = format!("# A title\n\n{}\nSecond.\n", "many words ".repeat(12).trim());
        let folded = folded(&text, &Page::plain());
        assert!(folded.lines().all(|line| line.chars().count() <= 80), "{folded}");
        assert!(folded.starts_with("# A title\n\nmany words") && folded.ends_with("words Second.\n"), "{folded}");
    }

    #[test]
    fn items_are_set_in_and_code_and_tables_stay() {
        let long = "word ".repeat(30);
        let text = format!("- {long}\n  More.\n- b\n\n    code {long}\n```\nlet a  =  1;\n```\n| a | {long} |\n");
        let folded = folded(&text, &Page::plain());
        let lines: Vec<&str> = folded.lines().collect();
        assert!(lines[0].starts_with("- word") && lines[1].starts_with("  word"), "{folded}");
        assert!(folded.contains("More.\n- b\n\n    code word"), "{folded}");
        assert!(folded.contains("```\nlet a  =  1;\n```\n| a | word"), "{folded}");
    }
}
