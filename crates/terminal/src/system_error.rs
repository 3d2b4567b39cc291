//! Errors of the system as people read them: the text of the error, without its number.

use std::borrow::Cow;

const START: &str = " (os error ";

/// Removes the suffix ` (os error N)`, which Rust's standard library appends to the text of a system error: the text
/// alone identifies the error.
pub fn without_error_numbers(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, suffix)) = rest.split_once(START) {
        shown.push_str(before);
        rest = match suffix.split_once(')') {
            Some((number, after)) if number.parse::<i32>().is_ok() => after,
            _ => {
                shown.push_str(START);
                suffix
            }
        };
    }
    if shown.is_empty() && rest.len() == text.len() { Cow::Borrowed(text) } else { Cow::Owned(shown + rest) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn a_system_error_is_shown_by_its_text_alone() {
        let error = io::Error::from_raw_os_error(13);
        assert_eq!(without_error_numbers(&format!("cannot read x: {error}; y")), "cannot read x: Permission denied; y");
        assert_eq!(without_error_numbers("a (os error 2): b (os error -5)"), "a: b");
    }

    #[test]
    fn other_text_stays() {
        for text in ["", "plain", "a (os error)", "a (os error x)", "a (os error 2", " (os error 2 of 3)"] {
            assert_eq!(without_error_numbers(text), text);
        }
    }
}
