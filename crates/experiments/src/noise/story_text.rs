//! The story of an event in letters: who had the CPU, from when, for how long.

use super::record::Row;
use super::story_part::StoryPart;
use harness::label;
use terminal::{Page, nanoseconds};

/// A line for each that had the CPU; times are since the event began.
pub fn story_text(story: &[StoryPart], page: &Page) -> String {
    if story.is_empty() {
        return "  The kernel's record says nothing of it.\n".into();
    }
    let line = |part: &StoryPart| {
        let pid = part.who.pid.map_or_else(String::new, |pid| format!(" ({pid})"));
        let sign = if part.from_us < 0.0 { "-" } else { "+" };
        let from = nanoseconds(part.from_us.abs() * 1e3);
        let text = format!(
            "  {:>10}  {:>8}  {}{pid}",
            format!("{sign}{from}"),
            nanoseconds(part.length_us * 1e3),
            label(&part.who)
        );
        page.cut(&text) + "\n"
    };
    story.iter().map(line).collect()
}

/// The gap that ended it all, and who ran in it.
pub fn stopped(rows: &[Row], page: &Page) -> String {
    let us = |us: f64| nanoseconds(us * 1e3);
    let found = rows.iter().filter_map(|row| Some((row, row.stopped.as_ref()?)));
    let text = found.map(|(row, gap)| {
        let words = format!(
            "Stopped at {:.3} s: on CPU {} a gap of {}, {} of it {}.",
            gap.start_s,
            row.cpu,
            us(gap.length_us),
            us(gap.cause_us),
            label(&gap.cause)
        );
        "\n".to_owned() + &terminal::wrapped("", "", &words, page) + &story_text(&gap.story, page)
    });
    text.collect()
}
