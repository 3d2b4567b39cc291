//! Texts that are longer than their column.

/// Shortens a text to this number of letters. `…` replaces the omitted ones.
///
/// A text that ends with a call site, such as `mutex of get (src/cache.c:42) #2`, keeps its file and line, and loses letters
/// before them; any other text loses its end.
pub fn shortened(text: &str, room: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= room {
        return text.to_owned();
    }
    let room = room.saturating_sub(1);
    let end = call_site(text).map_or(0, |site| site.chars().count()).min(room);
    let (start, end) = (&letters[..room - end], &letters[letters.len() - end..]);
    start.iter().chain(['…'].iter()).chain(end).collect()
}

/// Returns the file and the line at the end of a text, with what follows them.
fn call_site(text: &str) -> Option<&str> {
    let end = &text[text.rfind(['(', '/'])?..];
    let (file, line) = end.split_once(':')?;
    // `kworker/0:1-events` has no file.
    let after = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let is_file = file.contains('.') && !file.contains(char::is_whitespace);
    let is_end = after.is_empty() || after.starts_with([')', '#']) || after.starts_with(" #");
    (is_file && after.len() < line.len() && is_end).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn line_of_a_call_site_is_lost_last() {
        let name = "mutex of cache_lookup_entry (cache.c:42)";
        for (text, room, expected) in [
            (name, 40, name),
            (name, 28, "mutex of cache_…(cache.c:42)"),
            (name, 13, "…(cache.c:42)"),
            (name, 8, "…e.c:42)"),
            ("mutex of cache_lookup_entry (cache.c:42) #2", 28, "mutex of cac…(cache.c:42) #2"),
            ("put at /home/user/project/cache.c:42", 20, "put at /…/cache.c:42"),
            ("std::vector<std::mutex>::operator[]", 12, "std::vector…"),
            ("task kworker/0:1-events_unbound", 20, "task kworker/0:1-ev…"),
            ("./server --listen 127.0.0.1:8080 --threads 4", 20, "./server --listen 1…"),
            ("a sentence (with a remark) that goes on", 20, "a sentence (with a …"),
            ("", 0, ""),
            ("ab", 0, "…"),
        ] {
            assert_eq!(shortened(text, room), expected, "{text} {room}");
        }
    }
}
