//! Foreign text made safe and readable: a terminal obeys some characters, and hides others.
//!
//! A process may be called anything, and a record that was fetched may contain anything. A character that a terminal
//! would obey or hide is written as its number, `\u{1b}`, so that it can be read and has no effect. The texts of system
//! errors are shown without their numbers.

use std::borrow::Cow;

/// Escapes a word, a name or a cell: nothing in it ends a line.
pub fn escaped(word: &str) -> Cow<'_, str> {
    without_hazards(word, &[], number)
}

/// Escapes a whole text: its lines and tabs stay, and letters in contend's own colours.
pub fn escaped_text(text: &str) -> Cow<'_, str> {
    let is_harmless = |letter: char| !is_hazard(letter) || matches!(letter, '\n' | '\t');
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = match coloured_letter(rest) {
            Some(length) => {
                safe.push_str(&rest[..length]);
                length
            }
            None if is_harmless(letter) => {
                safe.push(letter);
                letter.len_utf8()
            }
            None => {
                safe.push_str(&number(letter));
                letter.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    Cow::Owned(safe)
}

/// Escapes a whole text that a terminal does not show first, such as an HTML page: only its lines and tabs stay.
pub fn escaped_lines(text: &str) -> Cow<'_, str> {
    without_hazards(text, &['\n', '\t'], number)
}

/// Escapes a cell of a table that a spreadsheet may open: as [`escaped`], and text that it would evaluate as a formula
/// begins with an apostrophe, as OWASP recommends.
///
/// A number stays as it is, the negative ones too.
pub fn escaped_cell(cell: &str) -> Cow<'_, str> {
    let text = escaped(cell);
    let is_formula = text.starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    let is_number = || {
        let mut bytes = text.bytes();
        bytes.all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E')) && text.parse::<f64>().is_ok()
    };
    if is_formula && !is_number() { Cow::Owned(format!("'{text}")) } else { text }
}

/// Escapes JSON, so that its strings have nothing that a terminal obeys or a browser hides: a parser reads the same
/// values.
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    let units = |letter: char| letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    without_hazards(json, &['\n', '\t', '\r'], units)
}

/// Replaces the hazards of a text, except the characters in `kept`.
fn without_hazards<'a>(text: &'a str, kept: &[char], replacement: impl Fn(char) -> String) -> Cow<'a, str> {
    let is_harmless = |letter: char| !is_hazard(letter) || kept.contains(&letter);
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let replaced = |letter: char| if is_harmless(letter) { letter.to_string() } else { replacement(letter) };
    Cow::Owned(text.chars().map(replaced).collect())
}

/// Colours one letter, and resets the colour at once: a foreign text in this form has no effect on the text after it.
pub fn coloured(letter: char, code: u32) -> String {
    format!("\x1b[{code}m{letter}{PLAIN}")
}

const PLAIN: &str = "\x1b[0m";
/// Red to cyan, and grey.
const CODES: [&str; 7] = ["31", "32", "33", "34", "35", "36", "90"];

/// Returns the length of a letter that [`coloured`] wrote, if the text begins with one.
fn coloured_letter(text: &str) -> Option<usize> {
    let (code, after) = text.strip_prefix("\x1b[")?.split_once('m')?;
    let letter = after.chars().next().filter(|letter| CODES.contains(&code) && !is_hazard(*letter))?;
    let end = after[letter.len_utf8()..].strip_prefix(PLAIN)?;
    Some(text.len() - end.len())
}

fn number(letter: char) -> String {
    letter.escape_unicode().to_string()
}

/// Returns whether the letter is a control character (C0, DEL, C1), is drawn as nothing, or changes the direction of
/// the text.
fn is_hazard(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

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
    fn control_characters_are_written_as_numbers() {
        assert_eq!(escaped("a\x1b]0;t\x07\nb"), "a\\u{1b}]0;t\\u{7}\\u{a}b");
        assert_eq!(escaped_text("a\r\tb\n\u{9b}2J\u{202e}"), "a\\u{d}\tb\n\\u{9b}2J\\u{202e}");
        assert_eq!(escaped_json("{\"a\":\"\u{9b}\u{e0001}µ\"}\n"), "{\"a\":\"\\u009b\\udb40\\udc01µ\"}\n");
        assert!(matches!(escaped_text("plain µ → 漢\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn escaped_lines_have_no_coloured_letters() {
        assert_eq!(escaped_lines("a\tb\n\x1b[31mA\x1b[0m\u{202e}"), "a\tb\n\\u{1b}[31mA\\u{1b}[0m\\u{202e}");
    }

    #[test]
    fn formula_is_escaped_and_number_stays_in_a_cell() {
        for formula in ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "-2e3-1", "--1", "-", "+inf", "\u{ff1d}1+1"] {
            assert_eq!(escaped_cell(formula), format!("'{formula}"));
        }
        // Neither character is left at the beginning, where a spreadsheet would skip it.
        assert_eq!([escaped_cell("\t=1"), escaped_cell("\r=1")], ["\\u{9}=1", "\\u{d}=1"]);
        for plain in ["-1", "-1.5e-3", "+2", "1-1", "a=b", "", "'=1"] {
            assert_eq!(escaped_cell(plain), plain);
        }
    }

    #[test]
    fn only_a_letter_in_known_colours_is_kept() {
        let known_colours = format!("{}{}", coloured('A', 31), coloured('#', 90));
        assert_eq!(escaped_text(&known_colours), known_colours);
        for foreign in ["\x1b[8mA\x1b[0m", "\x1b[31mAB\x1b[0m", "\x1b[31m\x1b\x1b[0m", "\x1b[31", "\x1b[2J", "\x1b[m"] {
            assert!(!escaped_text(foreign).starts_with('\x1b'), "{foreign:?}");
        }
    }

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
