//! Shell quoting, for commands that a message tells the user to run.

/// Returns the word quoted for a shell, in printable ASCII, whatever it contains.
pub fn quoted(word: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+:=@%,".contains(byte);
    if !word.is_empty() && word.iter().all(is_plain) {
        return String::from_utf8_lossy(word).into_owned();
    }
    if word.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return format!("'{}'", String::from_utf8_lossy(word).replace('\'', r"'\''"));
    }
    let octal: String = word
        .iter()
        .map(
            |byte| {
                if is_plain(byte) && *byte != b'%' { char::from(*byte).to_string() } else { format!("\\{byte:03o}") }
            },
        )
        .collect();
    format!("\"$(printf '{octal}')\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn shell_reads_a_quoted_word_unchanged() {
        for word in
            [&b"refs/records/abc"[..], b"a b", b"it's", b"$(touch x)", b"-x;y", "\u{202e}é".as_bytes(), b"\xff%s'\\"]
        {
            let script = format!("printf %s {}", quoted(word));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap().stdout;
            assert_eq!(output, word, "{script}");
            assert!(script.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{script}");
        }
    }
}
