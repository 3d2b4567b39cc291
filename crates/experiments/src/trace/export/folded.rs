//! Folded stacks, a line each, as flame graphs are drawn from: the lock, where it was waited for, who had it; and the
//! time in µs.

use crate::trace::measure::NamedWait;
use std::collections::BTreeMap;

/// The lines, in order of their names.
pub fn text(waits: &[NamedWait]) -> String {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for wait in waits {
        let holder = wait.holder.as_deref().map(|holder| format!("held by {holder}"));
        let frames = [Some(wait.lock.as_str()), Some(wait.site.as_str()), holder.as_deref()];
        let frames = frames.into_iter().flatten().map(written);
        *sums.entry(frames.collect::<Vec<String>>().join(";")).or_default() += wait.wait.ended - wait.wait.began;
    }
    sums.iter().map(|(stack, ns)| format!("{stack} {}\n", (ns / 1e3).round().max(1.0))).collect()
}

/// A frame as one field of a line. A semicolon separates frames, and a line is a stack. Names come from files of the
/// watched program, so they can contain anything: control characters would be obeyed by a terminal that shows the file.
fn written(frame: &str) -> String {
    let plain = |letter: char| match letter {
        ';' | '\n' => ':',
        letter if letter.is_control() => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    frame.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_frame_has_no_control_characters_and_no_separators() {
        assert_eq!(super::written("a;b\nc\u{1b}[31m\r\u{9b}d é"), "a:b:c\u{fffd}[31m\u{fffd}\u{fffd}d é");
    }
}
