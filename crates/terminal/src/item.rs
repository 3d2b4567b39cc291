//! A sentence as an item of a list, folded to the page.

use crate::page::Page;

/// `  - ` and the words, further lines set in. A word with spaces in it stays in one piece.
pub fn item<'a>(words: impl IntoIterator<Item = &'a str>, page: &Page) -> String {
    folded_after("  -", "   ", words, page)
}

/// A text broken between its words, the first line after `first` and the further ones after `rest`.
pub fn wrapped(first: &str, rest: &str, text: &str, page: &Page) -> String {
    folded_after(first, rest, text.split(' ').filter(|word| !word.is_empty()), page)
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
}
