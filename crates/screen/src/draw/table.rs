//! Tables: all reported cells, and a matrix whose cells are measured.

use super::Colours;
use crate::feed::{Feed, Place, Seen};
use crate::machine::Machine;
use crate::matrix::{Known, Matrix};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use ratatui_core::terminal::Frame;
use std::collections::VecDeque;

/// Columns of letters: a row's name, a cell, and its small picture.
const NAME: u16 = 18;
const CELL: u16 = 19;
const PICTURE: usize = 8;

/// Draws every cell on a line: value, small picture, name.
pub fn places(frame: &mut Frame, area: Rect, feed: &Feed, at: usize, colours: Colours) {
    let places: Vec<&Place> = feed.places().collect();
    let room = usize::from(area.height);
    let from = at.saturating_sub(room / 2).min(places.len().saturating_sub(room));
    for (line, (number, place)) in places.iter().enumerate().skip(from).take(room).enumerate() {
        let order = feed.order(place);
        let figure = place.seen.figure().map_or_else(String::new, |figure| figure.unit.words(figure.value));
        let text = format!("{figure:>12} {}  {} {}", small(&place.seen), place.row, place.column);
        let style = colours.order(order);
        let style = if number == at { style.add_modifier(Modifier::REVERSED) } else { style };
        put(frame, area, 0, line as u16, &text, area.width, style);
    }
}

/// Returns the row and the column of a matrix at this position of the screen.
pub fn cell_at(matrix: &Matrix, area: Rect, column: u16, line: u16) -> Option<(usize, usize)> {
    let (top, left) = shown_from(matrix, area);
    let row = usize::from(line.checked_sub(area.y + 1)?) + top;
    let column = usize::from(column.checked_sub(area.x + NAME)? / CELL) + left;
    (row < matrix.rows.len() && column < matrix.columns.len() && line < area.bottom()).then_some((row, column))
}

/// Returns the first visible row and column, so that the chosen cell is visible.
fn shown_from(matrix: &Matrix, area: Rect) -> (usize, usize) {
    let rows = usize::from(area.height.saturating_sub(1)).max(1);
    let columns = usize::from(area.width.saturating_sub(NAME) / CELL).max(1);
    let from = |at: usize, room: usize, all: usize| at.saturating_sub(room / 2).min(all.saturating_sub(room));
    (from(matrix.at.0, rows, matrix.rows.len()), from(matrix.at.1, columns, matrix.columns.len()))
}

pub fn matrix(frame: &mut Frame, area: Rect, matrix: &Matrix, machine: &Machine, colours: Colours) {
    let (top, left) = shown_from(matrix, area);
    let columns = left..matrix.columns.len().min(left + usize::from(area.width.saturating_sub(NAME) / CELL));
    for column in columns.clone() {
        put(frame, area, x_of(column, left), 0, &matrix.heading(column), CELL - 1, colours.strong());
    }
    for row in top..matrix.rows.len().min(top + usize::from(area.height.saturating_sub(1))) {
        let line = (row - top + 1) as u16;
        put(frame, area, 0, line, matrix.rows[row], NAME - 1, colours.name(matrix.rows[row]));
        for column in columns.clone() {
            let (text, style) = cell(matrix, (row, column), machine, colours);
            put(frame, area, x_of(column, left), line, &text, CELL - 1, style);
        }
    }
}

fn x_of(column: usize, left: usize) -> u16 {
    NAME + (column - left) as u16 * CELL
}

fn cell(matrix: &Matrix, place: (usize, usize), machine: &Machine, colours: Colours) -> (String, Style) {
    let mark = if matrix.marked.contains(&place) { '✓' } else { ' ' };
    let (words, style) = match matrix.known.get(&place) {
        Some(Known { figure, seen, .. }) => (
            format!("{:>8} {}", short(&figure.unit.words(figure.value)), small(seen)),
            colours.order(matrix.order(place)),
        ),
        None if matrix.refusal(place, machine).is_some() => ("—".to_owned(), colours.grey()),
        None => ("·".to_owned(), colours.grey()),
    };
    let busy = if matrix.measured == Some(place) { '…' } else { mark };
    let style = if matrix.at == place { style.add_modifier(Modifier::REVERSED) } else { style };
    (format!("{busy}{words:<17}"), style)
}

/// Shortens the words to eight letters.
fn short(words: &str) -> String {
    words.replace("nothing", "0").chars().take(8).collect()
}

/// Returns a small picture: the shape of a histogram, the last levels or values.
fn small(seen: &Seen) -> String {
    let scaled = |values: Vec<f64>| {
        let most = values.iter().copied().fold(0.0, f64::max);
        terminal::levels(values.into_iter().map(|value| Some(if most > 0.0 { value / most } else { 0.0 })))
    };
    let last = |points: &VecDeque<(f64, f64)>| -> Vec<f64> {
        points.iter().skip(points.len().saturating_sub(PICTURE)).map(|(_, value)| *value).collect()
    };
    let drawn = match seen {
        Seen::Nothing => String::new(),
        Seen::Histogram { bins, .. } => scaled(shape(bins)),
        Seen::Levels(levels) => terminal::levels(last(levels).into_iter().map(Some)),
        Seen::Figures { points, .. } => scaled(last(points)),
    };
    format!("{drawn:<PICTURE$}")
}

/// Returns the hits from the shortest to the longest latency, in equal steps of the logarithm.
fn shape(bins: &[(f64, u64)]) -> Vec<f64> {
    let log = |ns: f64| ns.max(0.1).ln();
    let Some((least, most)) = bins.first().zip(bins.last()).map(|(first, last)| (log(first.0), log(last.0))) else {
        return Vec::new();
    };
    let mut heights = vec![0_u64; PICTURE];
    for (ns, count) in bins {
        let share = if most > least { (log(*ns) - least) / (most - least) } else { 0.0 };
        let place = (share * (PICTURE - 1) as f64).round() as usize;
        heights[place.min(PICTURE - 1)] += count;
    }
    heights.into_iter().map(|count| ((count + 1) as f64).ln()).collect()
}

/// Writes a text within an area, cut where it ends.
pub fn put(frame: &mut Frame, area: Rect, x: u16, y: u16, text: &str, width: u16, style: Style) {
    let room = width.min(area.width.saturating_sub(x));
    if y < area.height && room > 0 {
        frame.buffer_mut().set_stringn(area.x + x, area.y + y, text, usize::from(room), style);
    }
}
