//! The diagnosis of a traced program: its sentences, and the table of its locks or the story of one of them.

use super::table::put;
use super::{Colours, folded};
use crate::diagnosis::{Class, Diagnosis};
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Frame;
use record::{Unit, optional};
use terminal::{count, nanoseconds};

/// The widths of the columns after the name, each with a blank before it.
const COLUMNS: [(&str, usize); 5] = [("type", 11), ("waited now", 11), ("in total", 10), ("waits", 9), ("wait p99", 9)];

/// Draws the diagnosis into the area.
pub fn draw(frame: &mut Frame, area: Rect, diagnosis: &Diagnosis, colours: Colours) {
    let Some(snapshot) = diagnosis.snapshot() else {
        return put(frame, area, 1, 0, "The first values appear after a second.", area.width, colours.grey());
    };
    let width = usize::from(area.width);
    let mut lines = Vec::new();
    let state = if diagnosis.is_paused() { "paused at " } else { "" };
    lines.push(format!(" {state}{:.0} s", snapshot.at_s));
    snapshot.sentences.iter().for_each(|sentence| lines.extend(folded(sentence, width)));
    lines.push(String::new());
    // At least half of the area is left to the table.
    lines.truncate(usize::from(area.height / 2));
    let top = lines.len() as u16;
    for (line, text) in lines.iter().enumerate() {
        put(frame, area, 0, line as u16, text, area.width, if line == 0 { colours.strong() } else { colours.good() });
    }
    let rest = Rect { y: area.y + top, height: area.height.saturating_sub(top), ..area };
    match diagnosis.story() {
        Some((class, first)) => story(frame, rest, class, first, colours),
        None => table(frame, rest, diagnosis, colours),
    }
}

fn table(frame: &mut Frame, area: Rect, diagnosis: &Diagnosis, colours: Colours) {
    let rest: usize = COLUMNS.iter().map(|(_, width)| width + 1).sum();
    let name_width = usize::from(area.width).saturating_sub(rest + 2);
    let heads: String = COLUMNS.iter().map(|(head, width)| format!(" {head:>width$}")).collect();
    let head = format!(" {:<name_width$}{heads}", format!("lock (by {})", diagnosis.order().name()));
    put(frame, area, 0, 0, &head, area.width, colours.strong());
    let (classes, chosen) = (diagnosis.classes(), diagnosis.chosen());
    if classes.is_empty() {
        return put(frame, area, 1, 1, "No wait for a lock so far.", area.width, colours.grey());
    }
    let room = usize::from(area.height.saturating_sub(1)).max(1);
    let first = (chosen + 1).saturating_sub(room);
    for (line, (place, class)) in classes.iter().enumerate().skip(first).take(room).enumerate() {
        let cells = [
            class.lock_type.clone(),
            if class.rate > 0.0 { format!("{}/s", nanoseconds(class.rate * 1e9)) } else { "–".into() },
            nanoseconds(class.waited_s * 1e9),
            class.contended.map_or_else(|| "–".into(), count),
            optional(class.wait_p99_ns, Unit::Ns),
        ];
        let cells = cells.iter().zip(COLUMNS).map(|(cell, (_, width))| format!(" {cell:>width$}"));
        let text =
            format!(" {:<name_width$}{} ", terminal::shortened(class.name(), name_width), cells.collect::<String>());
        let style = if place == chosen { colours.chosen() } else { colours.name(class.name()) };
        put(frame, area, 0, line as u16 + 1, &text, area.width, style);
    }
}

fn story(frame: &mut Frame, area: Rect, class: &Class, first: usize, colours: Colours) {
    let head = format!(" {} ({})", class.name(), class.lock_type);
    put(frame, area, 0, 0, &head, area.width, colours.strong());
    let lines = class.story.iter().skip(first).flat_map(|line| match line.strip_prefix("  ") {
        Some(frame) => vec![format!("   {frame}")],
        None => folded(line, usize::from(area.width)),
    });
    for (line, text) in lines.take(usize::from(area.height.saturating_sub(1))).enumerate() {
        put(frame, area, 0, line as u16 + 1, &text, area.width, ratatui_core::style::Style::new());
    }
}
