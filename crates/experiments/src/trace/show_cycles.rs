//! Cycles of locks that further runs tried to reach, on a terminal: the verdicts.

use super::plan::Confirmation;
use super::record::{ThreadStack, TraceRecord};
use super::words;
use terminal::{Page, counted};

pub fn show(record: &TraceRecord<'_>, confirmation: &Confirmation, page: &Page) -> String {
    let (rows, parameters) = (&record.results, &record.parameters);
    let of = |count: u32, words: &str| if count > 0 { format!(", {count} {words}") } else { String::new() };
    let not_reached = confirmation.possible - confirmation.reached.min(confirmation.possible);
    let mut text = format!(
        "{}: {}{}{}{}\n",
        parameters.program.join(" "),
        counted((confirmation.possible + confirmation.excluded) as usize, "lock cycle"),
        of(confirmation.reached, "reached"),
        of(not_reached, "not reached"),
        of(confirmation.excluded, "excluded"),
    );
    let cycles = rows.iter().filter(|row| !row.steps.is_empty());
    for row in cycles.filter(|row| parameters.all || words::is_brief(row)) {
        text.push_str(&terminal::item(words::cycle(row).split(' '), page));
        for stack in &row.stacks {
            text.push_str(&lines(stack, page));
        }
    }
    if !parameters.all && confirmation.excluded > 0 {
        text.push_str("--all prints the excluded cycles with their reasons.\n");
    }
    text
}

/// Functions of a stack that are shown.
const MOST_FRAMES: usize = 8;

fn lines(stack: &ThreadStack, page: &Page) -> String {
    let frame = |frame: &crate::trace::record::Frame| {
        let source = frame.source.as_deref().map(|source| format!(" ({})", blame::names::short(source)));
        let words = format!("    {}{}", frame.function.as_deref().unwrap_or("?"), source.unwrap_or_default());
        page.cut(&words) + "\n"
    };
    let frames: String = stack.frames.iter().take(MOST_FRAMES).map(frame).collect();
    format!("  thread {}\n{frames}", stack.thread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::record::Frame;

    #[test]
    fn frame_fits_the_page_and_keeps_its_line() {
        let frame = Frame {
            function: Some("std::vector<std::pair<int, int>>::".repeat(4)),
            source: Some("/a/pairs.cpp:42".into()),
        };
        let text = lines(&ThreadStack { thread: 1, frames: vec![frame] }, &Page::plain());
        assert!(text.lines().all(|line| line.chars().count() <= 80) && text.ends_with("(pairs.cpp:42)\n"), "{text}");
    }
}
