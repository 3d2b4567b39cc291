//! The width of a page and whether it has colours; sentences, list items and Markdown folded to that width.

use crate::shorten::shortened;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use textwrap::{Options, fill};

/// The space for a picture or a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Columns.
    pub width: usize,
    /// Whether letters may be coloured.
    pub colour: bool,
}

const PLAIN_WIDTH: usize = 80;
/// The greatest width: a wider picture is not easier to read.
const WIDEST: usize = 160;

impl Page {
    /// Returns a page of 80 columns without colour: a file, a pipe, a test.
    pub const fn plain() -> Self {
        Self { width: PLAIN_WIDTH, colour: false }
    }

    /// Returns the page of the terminal on stdout; a plain page if it is not a terminal.
    pub fn of_stdout() -> Self {
        Self::of(std::io::stdout())
    }

    /// Returns the page of the terminal on stderr; a plain page if it is not a terminal.
    pub fn of_stderr() -> Self {
        Self::of(std::io::stderr())
    }

    fn of(place: impl IsTerminal + AsFd) -> Self {
        if !place.is_terminal() {
            return Self::plain();
        }
        let columns = rustix::termios::tcgetwinsize(place).map_or(0, |size| usize::from(size.ws_col));
        let width = if columns == 0 { PLAIN_WIDTH } else { columns.clamp(40, WIDEST) };
        Self { width, colour: takes_colours() }
    }

    /// Cuts a line that is too long; it then ends with `…`.
    pub fn cut(&self, line: &str) -> String {
        shortened(line, self.width)
    }

    /// Cuts every line of a text that is too long.
    pub fn cut_lines(&self, text: &str) -> String {
        text.lines().map(|line| self.cut(line) + "\n").collect()
    }
}

/// Returns whether the terminal shows colours and can move its cursor: <https://no-color.org>, and `TERM=dumb`.
fn takes_colours() -> bool {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    variable("NO_COLOR").is_none() && variable("TERM").is_none_or(|term| term != "dumb")
}

/// Returns `  - ` and the words, with further lines indented.
///
/// A word with spaces is not broken.
pub fn item<'a>(words: impl IntoIterator<Item = &'a str>, page: &Page) -> String {
    folded_after("  -", "   ", words, page)
}

/// Returns a heading and an item for each text.
pub fn items(heading: &str, texts: &[String], page: &Page) -> String {
    let items = texts.iter().map(|text| item(text.split_whitespace(), page));
    std::iter::once(format!("{heading}\n")).chain(items).collect()
}

/// Breaks a text between its words, the first line after `first` and the further ones after `rest`.
///
/// A number and its unit stay on one line.
pub fn wrapped(first: &str, rest: &str, text: &str, page: &Page) -> String {
    let text = tied(text);
    folded_after(first, rest, text.split(' ').filter(|word| !word.is_empty()), page).replace(TIE, " ")
}

/// The blank at which no line ends.
const TIE: char = '\u{a0}';

const UNITS: [&str; 17] =
    ["%", "ns", "µs", "us", "ms", "s", "min", "h", "ppm", "Hz", "kHz", "MHz", "GHz", "B", "KiB", "MiB", "GiB"];

/// Ties each number to the unit after it.
fn tied(text: &str) -> String {
    let mut tied = String::with_capacity(text.len());
    let mut before = "";
    for word in text.split(' ') {
        let unit = word.trim_end_matches(|letter: char| !letter.is_alphanumeric() && letter != '%');
        let is_unit = before.ends_with(|letter: char| letter.is_ascii_digit()) && UNITS.contains(&unit);
        if !tied.is_empty() {
            tied.push(if is_unit { TIE } else { ' ' });
        }
        tied.push_str(word);
        before = word;
    }
    tied
}

fn folded_after<'a>(first: &str, rest: &str, words: impl IntoIterator<Item = &'a str>, page: &Page) -> String {
    let mut folded = String::new();
    let mut line = first.to_owned();
    for word in words {
        if line.chars().count() + 1 + word.chars().count() > page.width && !line.is_empty() {
            folded.push_str(&line);
            folded.push('\n');
            rest.clone_into(&mut line);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    folded + &line + "\n"
}

/// Joins sentences on separate lines to paragraphs that fit the page; code, tables and headings stay.
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

/// Returns whether a line is outside any paragraph.
fn is_fixed(line: &str) -> bool {
    line.is_empty() || ["#", "|", "    "].iter().any(|mark| line.starts_with(mark))
}

/// Lines of one paragraph.
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
        // Further lines of a list item begin below its first word.
        let indent = if self.text.starts_with("- ") { "  " } else { "" };
        let options = Options::new(page.width).subsequent_indent(indent).break_words(false);
        folded.push_str(&fill(&tied(&self.text), options).replace(TIE, " "));
        folded.push('\n');
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_fits_the_page() {
        let text = item("a word ".repeat(40).split_whitespace(), &Page::plain());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.starts_with("  - a word") && text.lines().nth(1).unwrap().starts_with("    a"), "{text}");
        assert_eq!(item(["short"], &Page::plain()), "  - short\n");
        let pieces = item(["a", &"b ".repeat(38)], &Page::plain());
        assert_eq!(pieces.lines().next(), Some("  - a"));
    }

    #[test]
    fn number_and_unit_stay_on_one_line() {
        // Wherever a line ends: no line begins with a unit.
        for shift in 0..12 {
            let text = "x".repeat(shift) + &" from 0.030 %, 12 µs; (3 ms) and 1,200 MiB".repeat(8);
            for broken in [wrapped("", "", &text, &Page::plain()), folded(&text, &Page::plain())] {
                let begins: Vec<&str> = broken.lines().filter_map(|line| line.split(' ').next()).collect();
                assert!(begins.iter().all(|word| !["%,", "µs;", "ms)", "MiB"].contains(word)), "{broken}");
                assert_eq!(broken.replace('\n', " ").trim(), text.trim());
            }
        }
        assert_eq!(wrapped("", "", "3 servers are 2 sentences", &Page { width: 4, colour: false }).lines().count(), 5);
    }

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
