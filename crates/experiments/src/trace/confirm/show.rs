//! The verdicts on a terminal and on a page.

use super::record::ConfirmRecord;
use crate::trace::record::{CycleVerdict, Row, ThreadStack};
use crate::trace::words;
use record::{Section, Statement};
use terminal::{Page, counted};

pub fn show(record: &ConfirmRecord<'_>, page: &Page) -> String {
    let (rows, parameters) = (&record.results, &record.parameters);
    let of = |count: u32, words: &str| if count > 0 { format!(", {count} {words}") } else { String::new() };
    let not_reached = parameters.possible - parameters.reached.min(parameters.possible);
    let mut text = format!(
        "{}: {}{}{}{}\n",
        parameters.program.join(" "),
        counted((parameters.possible + parameters.excluded) as usize, "lock cycle"),
        of(parameters.reached, "reached"),
        of(not_reached, "not reached"),
        of(parameters.excluded, "excluded"),
    );
    for row in rows.iter().filter(|row| parameters.all || words::is_brief(row)) {
        text.push_str(&terminal::item(words::cycle(row).split(' '), page));
        for stack in &row.stacks {
            text.push_str(&lines(stack));
        }
    }
    if !parameters.all && parameters.excluded > 0 {
        text.push_str("--all prints the excluded cycles with their reasons.\n");
    }
    text
}

/// Functions of a stack that are shown.
const MOST_FRAMES: usize = 8;

fn lines(stack: &ThreadStack) -> String {
    let frame = |frame: &crate::trace::record::Frame| {
        let source = frame.source.as_deref().map(|source| format!(" ({})", blame::names::short(source)));
        format!("    {}{}\n", frame.function.as_deref().unwrap_or("?"), source.unwrap_or_default())
    };
    let frames: String = stack.frames.iter().take(MOST_FRAMES).map(frame).collect();
    format!("  thread {}\n{frames}", stack.thread)
}

pub fn section(rows: &[Row]) -> Section {
    let of = |verdict: CycleVerdict| rows.iter().filter(move |row| row.verdict == Some(verdict));
    let order = [CycleVerdict::Reached, CycleVerdict::NotReached, CycleVerdict::Possible, CycleVerdict::Excluded];
    Section {
        experiment: "trace confirm",
        title: "Deadlocks".into(),
        findings: order.into_iter().flat_map(of).map(words::cycle).map(Statement::from).collect(),
        figures: Vec::new(),
        histograms: Vec::new(),
    }
}
