//! The screen, drawn from what the application is at: nothing here changes it.

pub mod colours;
mod menus;
mod pictures;
pub mod place;
pub mod table;

use crate::app::keys::KEYS;
use crate::app::{App, View};
use colours::Colours;
use pictures::Style;
use ratatui_core::layout::{Constraint, Layout, Position, Rect};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Text};
use ratatui_widgets::block::Block;
use ratatui_widgets::clear::Clear;
use ratatui_widgets::paragraph::{Paragraph, Wrap};
use table::put;

/// A smaller terminal shows nothing but that.
pub const LEAST: (u16, u16) = (80, 24);

pub fn is_large_enough(area: Rect) -> bool {
    area.width >= LEAST.0 && area.height >= LEAST.1
}

/// All of it.
pub fn draw(frame: &mut Frame, app: &App, colours: Colours) {
    let area = frame.area();
    if !is_large_enough(area) {
        let (width, height) = LEAST;
        let words = format!(
            "contend screen needs {width} columns and {height} lines; this terminal has {} and {}. q: quit",
            area.width, area.height
        );
        return frame.render_widget(Paragraph::new(words).wrap(Wrap { trim: true }), area);
    }
    let middle = place::middle(area);
    match &app.view {
        View::Welcome => welcome(frame, middle, app),
        View::Live => live(frame, middle, app, colours),
        View::Text(text) => {
            let lines = text.seen(usize::from(middle.height)).map(Line::from);
            frame.render_widget(Text::from_iter(lines), middle);
        }
        View::Matrix => {
            if let Some(matrix) = &app.matrix {
                table::matrix(frame, middle, matrix, &app.machine, colours);
            }
        }
    }
    menus::row(frame, app, colours);
    menus::columns(frame, app, colours);
    foot(frame, app, colours);
    if app.shows_keys {
        keys(frame, middle);
    }
}

fn welcome(frame: &mut Frame, area: Rect, app: &App) {
    let free = app.choice.cpus.to_string();
    let own = if app.machine.allowed.len() > 1 {
        format!("The interface runs on CPU {}; CPU {free} can be measured.", app.machine.own)
    } else {
        "Only one CPU is available: the interface runs on the CPU that is measured.".to_owned()
    };
    let lines = [
        String::new(),
        "  contend: measure what waiting costs on this machine".to_owned(),
        String::new(),
        format!("  {own}"),
        String::new(),
        "  Enter opens the menus; the arrow keys move; ? lists all keys.".to_owned(),
        "  Measure    run an experiment, with a live chart while it measures".to_owned(),
        "  Matrix     run a grid: locks by threads, or experiments by CPUs".to_owned(),
        "  Archive    show saved records, compare them, or write an HTML report".to_owned(),
        String::new(),
        "  The last line is the equivalent command: c copies it, e edits it.".to_owned(),
    ];
    frame.render_widget(Text::from_iter(lines), area);
}

fn live(frame: &mut Frame, area: Rect, app: &App, colours: Colours) {
    let Some(run) = &app.run else { return };
    if app.shows_all {
        return table::places(frame, area, &run.feed, app.at, colours);
    }
    let is_load = run.words.first().is_some_and(|word| word == "load");
    let style = if is_load { Style::Columns } else { Style::Own };
    let all = run.feed.places().count();
    if all < 2 {
        return pictures::draw(frame, area, &run.feed, app.at, style, colours);
    }
    let [picture, line] = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(area);
    pictures::draw(frame, picture, &run.feed, app.at, style, colours);
    if let Some(place) = run.feed.places().nth(app.at.min(all - 1)) {
        let (rank, figure) = (run.feed.rank(place), place.seen.figure());
        let figure = figure.map_or_else(String::new, |figure| figure.unit.words(figure.value));
        let of = rank.map_or_else(String::new, |(rank, of)| format!(", {} of {of}", rank + 1));
        let words =
            format!(" {} of {all}: {} {}: {figure}{of}   Tab: next, v: all", app.at + 1, place.row, place.column);
        put(frame, line, 0, 0, &words, line.width, colours.rank(rank));
    }
}

/// The message, and the command line that does the same.
fn foot(frame: &mut Frame, app: &App, colours: Colours) {
    let area = frame.area();
    let foot = Rect { y: area.bottom().saturating_sub(2), height: 2, ..area };
    put(frame, foot, 0, 0, &said(app), foot.width, colours.strong());
    if let Some(editor) = &app.editor {
        let (line, at) = editor.seen(usize::from(foot.width.saturating_sub(3)));
        put(frame, foot, 0, 1, &format!("$ {line}"), foot.width, colours.strong());
        frame.set_cursor_position(Position::new(foot.x + 2 + at as u16, foot.y + 1));
        return;
    }
    let line = app.command_line().map_or_else(String::new, |line| format!("$ {line}"));
    let keys = " ? keys";
    let room = foot.width.saturating_sub(keys.len() as u16);
    let line = terminal::Page { width: usize::from(room), colour: false }.cut(&line);
    put(frame, foot, 0, 1, &line, room, colours.good());
    put(frame, foot, room, 1, keys, foot.width - room, colours.grey());
}

/// A message, else why the chosen item is grey or what it is, else what the run is at.
fn said(app: &App) -> String {
    if app.editor.is_some() {
        return "edit the command line; Enter: run, Esc: cancel".to_owned();
    }
    if !app.message.is_empty() {
        return app.message.clone();
    }
    if let Some(item) = app.chosen() {
        return item.refusal.as_ref().map_or_else(|| item.about.clone(), |why| format!("not here: {why}"));
    }
    match (&app.view, &app.matrix, &app.run) {
        (View::Matrix, Some(matrix), run) => {
            match (matrix.known.get(&matrix.at), matrix.refusal(matrix.at, &app.machine)) {
                (Some(known), _) => format!("{}: {}", known.of, known.figure.unit.words(known.figure.value)),
                (None, Some(why)) => format!("not here: {why}"),
                (None, None) if run.as_ref().is_some_and(|run| run.is_running()) => running(app),
                (None, None) => "Space marks cells; Enter measures the marked cells, or this one".to_owned(),
            }
        }
        (View::Text(text), _, _) => text.place(usize::from(place::middle(app.area).height)),
        _ => running(app),
    }
}

fn running(app: &App) -> String {
    app.run.as_ref().map_or_else(String::new, |run| run.words_of_state())
}

fn keys(frame: &mut Frame, area: Rect) {
    let lines = KEYS.iter().map(|(key, what)| Line::from(format!(" {key:<11} {what}")));
    let height = KEYS.len() as u16 + 2;
    let area = Rect { x: area.x + 1, y: area.y, width: area.width.saturating_sub(2), height: height.min(area.height) };
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(Text::from_iter(lines)).block(Block::bordered().title(" keys ")), area);
}
