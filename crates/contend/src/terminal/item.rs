//! A sentence as an item of a list, folded to the page.

use super::Page;

/// `  - ` and the text, its further lines set in.
pub fn item(text: &str, page: &Page) -> String {
    let mut folded = String::new();
    let mut line = String::from("  -");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > page.width {
            folded.push_str(&line);
            folded.push('\n');
            line = String::from("   ");
        }
        line.push(' ');
        line.push_str(word);
    }
    folded + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_fits_the_page() {
        let text = item(&"a word ".repeat(40), &Page::plain());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.starts_with("  - a word") && text.lines().nth(1).unwrap().starts_with("    a"), "{text}");
        assert_eq!(item("short", &Page::plain()), "  - short\n");
    }
}
