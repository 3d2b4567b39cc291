//! A command line that is changed before it runs.

use terminal::full_screen::Key;

/// The line, and where in it one types.
#[derive(Clone, Debug, Default)]
pub struct Editor {
    letters: Vec<char>,
    at: usize,
}

/// A longer command line is not one that a user types.
const LONGEST: usize = 4_096;

impl Editor {
    pub fn of(line: &str) -> Self {
        let letters: Vec<char> = line.chars().collect();
        Self { at: letters.len(), letters }
    }

    pub fn line(&self) -> String {
        self.letters.iter().collect()
    }

    /// As much as fits, and the column at which one types.
    pub fn seen(&self, width: usize) -> (String, usize) {
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
    fn typing_is_what_it_is_everywhere() {
        let mut editor = Editor::of("contend nois");
        editor.key(Key::Char('e'));
        editor.key(Key::Home);
        editor.key(Key::Right);
        editor.key(Key::Delete);
        editor.key(Key::Char('ö'));
        assert_eq!(editor.line(), "cöntend noise");
        assert_eq!(editor.seen(5), ("cönte".to_owned(), 2));
        editor.key(Key::End);
        assert_eq!(editor.seen(6), ("noise".to_owned(), 5));
        editor.key(Key::Backspace);
        editor.key(Key::Ctrl('u'));
        assert_eq!((editor.line().as_str(), editor.at), ("", 0));
        editor.key(Key::Backspace);
    }
}
