//! A command as it is typed into a shell, split into words where no shell is needed to understand it.
//!
//! A shell takes a millisecond of each run, and starts processes that are then measured too. Words and quotes need none.

use harness::UsageError;
use std::iter::Peekable;
use std::str::Chars;

/// A command in words, or one that a shell must run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandLine {
    Words(Vec<String>),
    Shell(String),
}

/// These characters mean something to a shell wherever they are not quoted.
const SPECIAL: &str = "|&;<>()$`*?[]\n";
/// These do so where a word begins.
const SPECIAL_FIRST: &str = "~#!";

impl CommandLine {
    /// Splits a command by the rules of POSIX shells: spaces, both kinds of quotes, and backslashes.
    ///
    /// # Errors
    /// It is empty; a quote has no end.
    pub fn of(text: &str) -> Result<Self, UsageError> {
        let shell = || Ok(Self::Shell(text.to_owned()));
        let (mut words, mut word): (Vec<String>, Option<String>) = (Vec::new(), None);
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let is_first = word.is_none();
            match letter {
                ' ' | '\t' => words.extend(word.take()),
                '\'' => {
                    let quoted = word.get_or_insert_default();
                    loop {
                        match letters.next() {
                            Some('\'') => break,
                            Some(letter) => quoted.push(letter),
                            None => return Err(unfinished(text, '\'')),
                        }
                    }
                }
                '"' => {
                    if !in_double_quotes(&mut letters, word.get_or_insert_default(), text)? {
                        return shell();
                    }
                }
                '\\' => match letters.next() {
                    Some('\n') | None => return shell(),
                    Some(letter) => word.get_or_insert_default().push(letter),
                },
                letter if SPECIAL.contains(letter) || (is_first && SPECIAL_FIRST.contains(letter)) => return shell(),
                // An assignment before the command.
                '=' if words.is_empty() => return shell(),
                letter => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        match words.first() {
            Some(first) if !first.is_empty() => Ok(Self::Words(words)),
            _ => Err(UsageError(format!("{text:?}: empty command"))),
        }
    }
}

/// Reads the rest of a word in double quotes; `false` where a shell would replace a part of it.
fn in_double_quotes(letters: &mut Peekable<Chars<'_>>, word: &mut String, text: &str) -> Result<bool, UsageError> {
    loop {
        match letters.next() {
            Some('"') => return Ok(true),
            Some('$' | '`') => return Ok(false),
            Some('\\') if letters.peek().is_some_and(|next| "\"\\$`".contains(*next)) => word.extend(letters.next()),
            Some(letter) => word.push(letter),
            None => return Err(unfinished(text, '"')),
        }
    }
}

fn unfinished(text: &str, quote: char) -> UsageError {
    UsageError(format!("{text}: the quote {quote} has no end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quotes_need_no_shell() {
        let words = |text: &str| match CommandLine::of(text).unwrap() {
            CommandLine::Words(words) => words,
            CommandLine::Shell(_) => panic!("{text} needs no shell"),
        };
        assert_eq!(words("./old --flag  x"), ["./old", "--flag", "x"]);
        assert_eq!(words(r#"p 'a b' "c d" e\ f '' g'h'"i""#), ["p", "a b", "c d", "e f", "", "ghi"]);
        assert_eq!(words(r#"p "a\"b\\c\d""#), ["p", r#"a"b\c\d"#]);
        assert_eq!(words("p --n=1 a~b a#b {x}"), ["p", "--n=1", "a~b", "a#b", "{x}"]);
    }

    #[test]
    fn commands_with_a_meaning_for_the_shell_are_given_to_it() {
        for text in
            ["a | b", "a > b", "X=1 a", "a $HOME", "a \"$HOME\"", "a *.c", "~/a", "a; b", "a `b`", "a &&b", "a\\"]
        {
            assert_eq!(CommandLine::of(text).unwrap(), CommandLine::Shell(text.into()), "{text}");
        }
    }

    #[test]
    fn empty_commands_and_open_quotes_are_refused() {
        for text in ["", "  ", "''", "a 'b", "a \"b"] {
            assert!(CommandLine::of(text).is_err(), "{text}");
        }
    }
}
