//! The gap that ended it all, in letters.

use super::record::Row;
use harness::{label, story_text};
use terminal::{Page, nanoseconds};

/// The gap that ended it all, and who ran in it.
pub fn stopped(rows: &[Row], page: &Page) -> String {
    let us = |us: f64| nanoseconds(us * 1e3);
    let found = rows.iter().filter_map(|row| Some((row, row.stopped.as_ref()?)));
    let text = found.map(|(row, gap)| {
        let words = format!(
            "Stopped at {:.3} s: a gap of {} on CPU {}; main cause, for {}: {}.",
            gap.start_s,
            us(gap.length_us),
            row.cpu,
            us(gap.cause_us),
            label(&gap.cause)
        );
        "\n".to_owned() + &terminal::wrapped("", "", &words, page) + &story_text(&gap.story, page)
    });
    text.collect()
}

/// Says that `--stop-above` ended the measurement, if it did.
pub fn ended_by(is_stopped: bool) -> Option<String> {
    is_stopped.then(|| "noise ended: something was longer than --stop-above".to_owned())
}
