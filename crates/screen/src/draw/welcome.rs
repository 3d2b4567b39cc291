//! The empty window: the questions of a new user, and the last record.

use super::table::put;
use super::{Colours, last_record};
use crate::app::App;
use crate::menu::STEPS;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::terminal::Frame;

/// The lines above the first question.
const HEAD: u16 = 4;
/// The most lines of a verdict.
const MOST_VERDICT: usize = 4;

/// Draws the empty window; the question `step` is in focus.
pub fn draw(frame: &mut Frame, area: Rect, app: &App, step: usize, colours: Colours) {
    put(frame, area, 2, 1, "contend: measure what waiting costs on this machine", area.width, colours.strong());
    put(frame, area, 2, 3, "Choose a question (↑ ↓); Enter opens the form that answers it:", area.width, Style::new());
    for (number, (question, name)) in STEPS.iter().enumerate() {
        let style = if number == step { colours.chosen() } else { Style::new() };
        let text = format!(" {question:<58} {name:<11}");
        put(frame, area, 3, HEAD + number as u16, &text, 72, style);
    }
    let free = app.machine.free();
    let own = if app.machine.allowed.len() > 1 {
        format!("The interface runs on CPU {}; CPU {free} can be measured.", app.machine.own)
    } else {
        "Only one CPU is available: the interface runs on the CPU that is measured.".to_owned()
    };
    let menus = "→ opens the menus: all experiments, tables to fill, the archive.";
    let line = "The last line is the equivalent command: c copies it, e edits it.";
    let lines = [own.as_str(), "", menus, line].map(|line| format!("  {line}"));
    let last = last_record(app, None, usize::from(area.width).saturating_sub(1), MOST_VERDICT);
    let last = last.iter().map(|line| format!(" {line}"));
    let below = HEAD + STEPS.len() as u16 + 1;
    let last_lines = last.len() as u16 + 1;
    for (line, text) in last.enumerate() {
        put(frame, area, 0, below + line as u16, &text, area.width, colours.good());
    }
    for (line, text) in lines.iter().enumerate() {
        put(frame, area, 0, below + last_lines + line as u16, text, area.width, Style::new());
    }
}

/// Returns the question at a line of the screen.
pub fn step_at(area: Rect, line: u16) -> Option<usize> {
    let step = usize::from(line.checked_sub(area.y + HEAD)?);
    (step < STEPS.len()).then_some(step)
}
