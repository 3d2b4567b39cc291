//! A command line as text: quoted as in a shell, split into words again, and edited before it runs.

use terminal::full_screen::Key;

/// Returns `contend` and these words, quoted as for a shell.
pub fn shown(words: &[String]) -> String {
    let quoted = words.iter().map(|word| quoted(word));
    ["contend".to_owned()].into_iter().chain(quoted).collect::<Vec<String>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "_-+=,./:@%~".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns the words after `contend` of a line that was typed; an error says why it cannot be run.
pub fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = split(line)?;
    match words.first().map(String::as_str) {
        Some("contend") => Ok(words.split_off(1)),
        Some(other) => Err(format!("{other}: the command line must begin with `contend`")),
        None => Err("empty command line".to_owned()),
    }
}

/// Splits a line into words as a shell does, without its other syntax.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut open): (Option<String>, Option<char>) = (None, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (open, letter) {
            (Some(quote), _) if letter == quote => open = None,
            (None, '\'' | '"') => {
                open = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(quote) = open {
        return Err(format!("unclosed quote {quote}"));
    }
    words.extend(word);
    Ok(words)
}

/// A line with a cursor.
#[derive(Clone, Debug, Default)]
pub struct Editor {
    letters: Vec<char>,
    at: usize,
}

/// The most characters of a line.
const LONGEST: usize = 4_096;

impl Editor {
    pub fn new(line: &str) -> Self {
        let letters: Vec<char> = line.chars().collect();
        Self { at: letters.len(), letters }
    }

    pub fn line(&self) -> String {
        self.letters.iter().collect()
    }

    /// Returns the part of the line that fits, and the column of the cursor.
    pub fn visible(&self, width: usize) -> (String, usize) {
        let from = self.at.saturating_sub(width.saturating_sub(1));
        (self.letters.iter().skip(from).take(width).collect(), self.at - from)
    }

    pub fn key(&mut self, key: Key) {
        match key {
            Key::Char(letter) if self.letters.len() < LONGEST => {
                self.letters.insert(self.at, letter);
                self.at += 1;
            }
            Key::Backspace if self.at > 0 => {
                self.at -= 1;
                self.letters.remove(self.at);
            }
            Key::Delete if self.at < self.letters.len() => _ = self.letters.remove(self.at),
            Key::Left => self.at = self.at.saturating_sub(1),
            Key::Right => self.at = (self.at + 1).min(self.letters.len()),
            Key::Home | Key::Ctrl('a') => self.at = 0,
            Key::End | Key::Ctrl('e') => self.at = self.letters.len(),
            Key::Ctrl('u') => _ = self.letters.drain(..std::mem::take(&mut self.at)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_line_splits_into_the_same_words() {
        for line in [
            "contend",
            "contend latency --lock std,mcs --cpus 0-3",
            "contend history trend 'clock: a read'",
            r"contend a\ b ''",
        ] {
            let found = words(line).unwrap();
            assert_eq!(words(&shown(&found)).unwrap(), found, "{line}");
        }
        assert_eq!(words("contend a'b c'\"d\"").unwrap(), ["ab cd"]);
        assert_eq!(shown(&["it's".to_owned()]), r"contend 'it'\''s'");
    }

    #[test]
    fn lines_of_other_programs_are_refused() {
        assert!(words("contend 'a").unwrap_err().contains("unclosed quote"));
        assert!(words("rm -rf x").unwrap_err().contains("rm: the command line"));
        assert!(words("  ").is_err());
    }

    #[test]
    fn editor_keys_change_the_line() {
        let mut editor = Editor::new("contend nois");
        editor.key(Key::Char('e'));
        editor.key(Key::Home);
        editor.key(Key::Right);
        editor.key(Key::Delete);
        editor.key(Key::Char('ö'));
        assert_eq!(editor.line(), "cöntend noise");
        assert_eq!(editor.visible(5), ("cönte".to_owned(), 2));
        editor.key(Key::End);
        assert_eq!(editor.visible(6), ("noise".to_owned(), 5));
        editor.key(Key::Backspace);
        editor.key(Key::Ctrl('u'));
        assert_eq!((editor.line().as_str(), editor.at), ("", 0));
        editor.key(Key::Backspace);
    }
}
