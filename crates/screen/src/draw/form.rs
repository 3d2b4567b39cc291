//! A form: a line for each option with its value, its default and the parser's error; the list of one of them above it.

use super::table::put;
use super::{Colours, folded, last_record, middle};
use crate::app::App;
use crate::form::{Edit, Field, Form};
use crate::list::List;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::Style;
use ratatui_core::terminal::Frame;
use ratatui_widgets::block::Block;
use ratatui_widgets::clear::Clear;

/// The lines above the first field: the title of the form.
const HEAD: u16 = 3;
/// The column of the values.
const VALUES: u16 = 18;
/// The most lines of a verdict.
const MOST_VERDICT: usize = 3;
/// The most columns of a value.
const WIDEST_VALUE: u16 = 50;

/// Draws the form over the area, and the open list over the form.
pub fn draw(frame: &mut Frame, area: Rect, app: &App, form: &Form, colours: Colours) {
    frame.render_widget(Clear, area);
    let title = folded(&format!("{}: {}", form.name, form.about()), usize::from(area.width));
    for (line, text) in title.iter().take(usize::from(HEAD - 1)).enumerate() {
        put(frame, area, 0, line as u16, text, area.width, colours.strong());
    }
    for (number, field) in form.fields.iter().enumerate() {
        draw_field(frame, area, HEAD + number as u16, field, number == form.at, colours);
    }
    let run = run_line(form);
    let style = if form.focus().is_none() { colours.chosen() } else { Style::new() };
    put(frame, area, 1, run, "[ Run ]", area.width, style);
    if let Some(error) = &form.error {
        let style = if form.focus().is_none() { colours.bad() } else { colours.grey() };
        put(frame, area, VALUES, run, error, area.width, style);
    }
    let (help, last) = (below(area, run + 2), last_record(app, Some(form.name), usize::from(area.width), MOST_VERDICT));
    let last_top = area.height.saturating_sub(last.len() as u16);
    let text = form.focus().map_or_else(|| "Run the command line below.".to_owned(), Field::help);
    let room = usize::from(last_top.saturating_sub(run + 3));
    for (line, text) in folded(&text, usize::from(area.width)).into_iter().take(room).enumerate() {
        put(frame, help, 0, line as u16, &text, area.width, Style::new());
    }
    for (line, text) in last.iter().enumerate() {
        put(frame, area, 0, last_top + line as u16, text, area.width, colours.good());
    }
    if let Some(list) = &form.list {
        draw_list(frame, list_area(area), list, form.focus(), colours);
    }
}

fn run_line(form: &Form) -> u16 {
    HEAD + form.fields.len() as u16 + 1
}

fn below(area: Rect, line: u16) -> Rect {
    let line = line.min(area.height);
    Rect { y: area.y + line, height: area.height - line, ..area }
}

fn draw_field(frame: &mut Frame, area: Rect, y: u16, field: &Field, is_chosen: bool, colours: Colours) {
    let width = value_width(area);
    let label_style = if is_chosen { colours.chosen() } else { Style::new() };
    put(frame, area, 1, y, &format!("{:<15}", field.label()), VALUES - 2, label_style);
    let text = field.value.line();
    let default = field.default();
    let is_typed = field.edit() == Edit::Text;
    if text.is_empty() {
        let default = if default.is_empty() { "–" } else { &default };
        let cut = terminal::Page { width: usize::from(width), colour: false }.cut(default);
        put(frame, area, VALUES, y, &cut, width, colours.grey());
    } else if is_typed && is_chosen {
        put(frame, area, VALUES, y, &field.value.visible(usize::from(width)).0, width, colours.strong());
    } else {
        let cut = terminal::Page { width: usize::from(width), colour: false }.cut(&text);
        put(frame, area, VALUES, y, &cut, width, Style::new());
    }
    if is_typed && is_chosen {
        let at = field.value.visible(usize::from(width)).1 as u16;
        frame.set_cursor_position(Position::new(area.x + VALUES + at, area.y + y));
    }
    let note_at = VALUES + width + 1;
    let (note, style) = match (&field.error, text.is_empty()) {
        (Some(error), _) => (error.clone(), colours.bad()),
        (None, true) if is_chosen => (keys_of(field.edit()).to_owned(), colours.grey()),
        (None, true) if !default.is_empty() => ("default".to_owned(), colours.grey()),
        (None, _) if default.is_empty() => (String::new(), colours.grey()),
        (None, _) => (format!("default: {default}"), colours.grey()),
    };
    let room = area.width.saturating_sub(note_at);
    let note = terminal::Page { width: usize::from(room), colour: false }.cut(&note);
    put(frame, area, note_at, y, &note, room, style);
}

fn value_width(area: Rect) -> u16 {
    (area.width.saturating_sub(VALUES) / 2).min(WIDEST_VALUE)
}

/// Returns how a field is edited.
fn keys_of(edit: Edit) -> &'static str {
    match edit {
        Edit::Switch => "← →: yes or no",
        Edit::Choice => "← →, or Enter for a list",
        Edit::Process => "Enter: list of processes",
        Edit::Text => "type a value",
    }
}

/// Returns the area of the list: below the title of the form.
fn list_area(area: Rect) -> Rect {
    below(area, 1)
}

/// Returns the rows of a list that fit, and the index of the first one, so that the row in focus is visible.
fn rows_of(area: Rect, list: &List) -> (usize, usize) {
    let head = 1 + u16::from(!list.heading.is_empty());
    let room = usize::from(area.height.saturating_sub(2 + head)).max(1);
    (room, list.at().map_or(0, |at| (at + 1).saturating_sub(room)))
}

fn draw_list(frame: &mut Frame, area: Rect, list: &List, field: Option<&Field>, colours: Colours) {
    frame.render_widget(Clear, area);
    let (rows, (room, first), at) = (list.visible(), rows_of(area, list), list.at());
    let label = field.map_or_else(String::new, Field::label);
    let several = if list.takes_several { "space: mark, " } else { "" };
    let keys = format!(" type to filter, {several}Enter: take, Esc: back ");
    let block = Block::bordered().title(format!(" {label} ")).title_bottom(keys);
    let more = rows.len().saturating_sub(first + room);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let count = if more > 0 { format!("   {more} more below") } else { String::new() };
    put(frame, inside, 1, 0, &format!("filter: {}_{count}", list.filter), inside.width, colours.strong());
    let mut y = 1;
    if !list.heading.is_empty() {
        put(frame, inside, 3, y, list.heading, inside.width, colours.grey());
        y += 1;
    }
    if rows.is_empty() && !list.has_lost_focus() {
        put(frame, inside, 3, y, "no match; Enter takes the text as it is", inside.width, colours.grey());
    }
    for (line, (number, row)) in rows.iter().enumerate().skip(first).take(room).enumerate() {
        let mark = if list.is_marked(row) { "✓ " } else { "  " };
        let text = format!(" {mark}{:<1$}", row.text, usize::from(inside.width));
        let style = if Some(number) == at { colours.chosen() } else { Style::new() };
        put(frame, inside, 0, y + line as u16, &text, inside.width, style);
    }
}

/// Returns the field, or the row of the open list, at a position of the screen.
pub fn line_at(form: &Form, screen: Rect, column: u16, line: u16) -> Option<usize> {
    let area = middle(screen);
    if let Some(list) = &form.list {
        let area = list_area(area);
        let (room, first) = rows_of(area, list);
        let head = area.y + 2 + u16::from(!list.heading.is_empty());
        let row = usize::from(line.checked_sub(head)?);
        let is_inside = column > area.x && column + 1 < area.right() && row < room;
        return (is_inside && first + row < list.visible().len()).then_some(first + row);
    }
    let line = line.checked_sub(area.y)?;
    let field = usize::from(line.wrapping_sub(HEAD));
    match line {
        line if line == run_line(form) => Some(form.fields.len()),
        line if line >= HEAD && field < form.fields.len() => Some(field),
        _ => None,
    }
}
