//! The words of a command line as a person types them, and the other way round.

/// `contend` and its words, quoted as a shell wants them.
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

/// The words behind `contend` of a line that was typed.
///
/// # Errors
/// A quote that is left open; another program's line.
pub fn words(line: &str) -> Result<Vec<String>, String> {
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
    match words.first().map(String::as_str) {
        Some("contend") => Ok(words.split_off(1)),
        Some(other) => Err(format!("{other}: the command line must begin with `contend`")),
        None => Err("empty command line".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_typed() {
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
    fn what_is_no_line_of_contends_is_refused() {
        assert!(words("contend 'a").unwrap_err().contains("unclosed quote"));
        assert!(words("rm -rf x").unwrap_err().contains("rm: the command line"));
        assert!(words("  ").is_err());
    }
}
