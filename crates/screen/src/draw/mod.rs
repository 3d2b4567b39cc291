//! The screen, drawn from the state of the application, which nothing here changes.
//!
//! The row of titles is at the top, open menus are columns below it, and the view is in the middle. Two lines are at
//! the bottom: a message, and the command line that does the same as the chosen item. `input` calls this module to find
//! the item or cell of a click. A lock has the same colour everywhere, and so has a place in the order of values.

mod diagnosis;
pub mod form;
mod help;
mod pictures;
pub mod table;
pub mod welcome;

use crate::app::{App, OpenMenu, View};
use crate::command_line;
use crate::form::Form;
use crate::menu::{self, Action, Menu};
use crate::run::Run;
use pictures::Picture;
use ratatui_core::layout::{Constraint, Layout, Position, Rect};
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Text};
use ratatui_widgets::block::Block;
use ratatui_widgets::clear::Clear;
use ratatui_widgets::paragraph::{Paragraph, Wrap};
use table::put;
use terminal::{Page, moment, wrapped};

/// The smallest terminal that the interface can be drawn on: one of 80 by 24 with the status line of tmux. A smaller one
/// shows a message instead.
const LEAST: (u16, u16) = (80, 23);

pub fn is_large_enough(area: Rect) -> bool {
    area.width >= LEAST.0 && area.height >= LEAST.1
}

/// Draws the screen.
pub fn draw(frame: &mut Frame, app: &App, colours: Colours) {
    let area = frame.area();
    if !is_large_enough(area) {
        let (width, height) = LEAST;
        let words = format!(
            "contend {} needs {width} columns and {height} lines; this terminal has {} and {}. q: quit",
            if app.is_top { "top" } else { "screen" },
            area.width,
            area.height
        );
        return frame.render_widget(Paragraph::new(words).wrap(Wrap { trim: true }), area);
    }
    let middle = middle(area);
    match &app.view {
        View::Welcome(step) => welcome::draw(frame, middle, app, *step, colours),
        View::Live => live(frame, middle, app, colours),
        View::Text(text) => {
            let lines = text.visible(usize::from(middle.height)).map(Line::from);
            frame.render_widget(Text::from_iter(lines), middle);
        }
        View::Matrix => {
            if let Some(matrix) = &app.matrix {
                table::matrix(frame, middle, matrix, &app.machine, colours);
            }
        }
    }
    if app.is_top {
        top_row(frame, app, colours);
    } else {
        titles_row(frame, app, colours);
    }
    match &app.form {
        Some(form) => form::draw(frame, middle, app, form, colours),
        None => open_menus(frame, app, colours),
    }
    foot(frame, app, colours);
    if app.shows_keys {
        help::draw(frame, middle, app, colours);
    }
}

/// Returns lines about the last record of an experiment, or of any: its date, and at `most` these lines of its verdict.
fn last_record(app: &App, experiment: Option<&str>, width: usize, most: usize) -> Vec<String> {
    let Some(entry) = app.records.last(experiment) else {
        return match (app.records.found(), experiment) {
            (Err(why), _) => folded(&format!("No record: {why}."), width),
            (Ok(_), _) => vec![" No record of this experiment so far.".to_owned()],
        };
    };
    let summary = &entry.summary;
    let state = if summary.interrupted { ", stopped early" } else { "" };
    let head = format!("Last record, {}{state}: {}", moment(summary.started_unix_s), summary.experiment);
    let mut verdict = folded(app.records.verdict(entry), width);
    if verdict.len() > most {
        verdict.truncate(most);
        if let Some(line) = verdict.last_mut() {
            *line = Page { width: width.max(2) - 1, ..Page::plain() }.cut(&format!("{line} …"));
        }
    }
    folded(&head, width).into_iter().take(1).chain(verdict).collect()
}

/// Returns the lines of a text, each after a blank.
fn folded(text: &str, width: usize) -> Vec<String> {
    let page = Page { width: width.saturating_sub(1), ..Page::plain() };
    wrapped("", " ", text, &page).lines().map(|line| format!(" {}", line.trim())).filter(|line| line != " ").collect()
}

fn live(frame: &mut Frame, area: Rect, app: &App, colours: Colours) {
    let Some(run) = &app.run else { return };
    if app.is_top || run.feed.diagnosis.snapshot().is_some() {
        return diagnosis::draw(frame, area, &run.feed.diagnosis, colours);
    }
    if app.shows_all {
        return table::places(frame, area, &run.feed, app.at, colours);
    }
    let is_load = run.words.first().is_some_and(|word| word == "load");
    let kind = if is_load { Picture::Columns } else { Picture::Own };
    let all = run.feed.places().count();
    if all < 2 {
        return pictures::draw(frame, area, &run.feed, app.at, kind, colours);
    }
    let [picture, line] = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(area);
    pictures::draw(frame, picture, &run.feed, app.at, kind, colours);
    if let Some(place) = run.feed.places().nth(app.at.min(all - 1)) {
        let (order, figure) = (run.feed.order(place), place.seen.figure());
        let figure = figure.map_or_else(String::new, |figure| figure.unit.words(figure.value));
        let words = format!(" {} of {all}: {} {}: {figure}   Tab: next, v: all", app.at + 1, place.row, place.column);
        put(frame, line, 0, 0, &words, line.width, colours.order(order));
    }
}

/// Draws the message, and the command line that does the same.
fn foot(frame: &mut Frame, app: &App, colours: Colours) {
    let area = frame.area();
    let foot = Rect { y: area.bottom().saturating_sub(2), height: 2, ..area };
    put(frame, foot, 0, 0, &message(app), foot.width, colours.strong());
    if let Some(editor) = &app.editor {
        let (line, at) = editor.visible(usize::from(foot.width.saturating_sub(3)));
        put(frame, foot, 0, 1, &format!("$ {line}"), foot.width, colours.strong());
        frame.set_cursor_position(Position::new(foot.x + 2 + at as u16, foot.y + 1));
        return;
    }
    let line = app.command_line().map_or_else(String::new, |line| format!("$ {line}"));
    let keys = " ? keys";
    let room = foot.width.saturating_sub(keys.len() as u16);
    let line = Page { width: usize::from(room), colour: false }.cut(&line);
    put(frame, foot, 0, 1, &line, room, colours.good());
    put(frame, foot, room, 1, keys, foot.width - room, colours.grey());
}

/// Returns the last message, else the description of the chosen item or why it is grey, else the state of the run.
fn message(app: &App) -> String {
    if app.editor.is_some() && app.message.is_empty() {
        return "edit the command line; Enter: run, Esc: cancel".to_owned();
    }
    if !app.message.is_empty() {
        return app.message.clone();
    }
    if let Some(form) = &app.form {
        return hint(form);
    }
    if let Some(item) = app.chosen() {
        return item.refusal.as_ref().map_or_else(|| item.about.clone(), |why| format!("not here: {why}"));
    }
    if let (View::Live, Some(run)) = (&app.view, &app.run)
        && (app.is_top || run.feed.diagnosis.snapshot().is_some())
    {
        return message_of_diagnosis(app, run);
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
        (View::Text(text), _, _) => text.position(usize::from(middle(app.area).height)),
        _ => running(app),
    }
}

/// Returns the keys of the diagnosis, or the state of a trace that ends or has ended.
fn message_of_diagnosis(app: &App, run: &Run) -> String {
    let (sort, quit) = if app.is_top { ("s", "q: save and quit") } else { ("o", "s: stop") };
    let enter = if run.feed.diagnosis.story().is_some() { "back" } else { "story" };
    let keys = format!("Enter: {enter}  {sort}: sort  p: pause  ");
    if run.is_stopped() {
        return run.state();
    }
    match (run.is_running(), app.is_top) {
        (true, _) => keys + quit,
        (false, true) => format!("the trace has ended. {keys}q: print the diagnosis"),
        (false, false) => format!("{}  {keys}t: printed text", run.state()),
    }
}

/// Returns the chosen row of the open list, else the error of the field in focus, else the keys of the form.
fn hint(form: &Form) -> String {
    if let Some(list) = &form.list {
        if list.has_lost_focus() {
            return "the chosen row is gone; choose another".to_owned();
        }
        let rows = list.visible();
        let text = list.at().map(|at| rows[at].text.split_whitespace().collect::<Vec<&str>>().join(" "));
        return text.unwrap_or_default();
    }
    match form.focus() {
        Some(field) => match &field.error {
            Some(error) => format!("{}: {error}", field.label()),
            None => "↑ ↓: field  Enter: next or list  Esc: back  ?: help; the command:".to_owned(),
        },
        None => form.error.clone().unwrap_or_else(|| "Enter: run the command:".to_owned()),
    }
}

fn running(app: &App) -> String {
    app.run.as_ref().map_or_else(String::new, Run::state)
}

/// Lines below the middle: a message, and the command line.
const FOOT: u16 = 2;
/// The greatest width of a menu.
const WIDEST: usize = 76;

/// Returns the area between the row and the foot.
pub fn middle(area: Rect) -> Rect {
    Rect { y: area.y + 1, height: area.height.saturating_sub(1 + FOOT), ..area }
}

/// Returns the column at which each title begins, and its width.
fn titles(row: &[Menu]) -> impl Iterator<Item = (u16, u16)> {
    row.iter().scan(1_u16, |x, menu| {
        let width = menu.title().chars().count() as u16 + 2;
        let begins = *x;
        *x += width;
        Some((begins, width))
    })
}

/// Returns the title at a column of the row.
pub fn title_at(row: &[Menu], column: u16) -> Option<usize> {
    titles(row).position(|(x, width)| (x..x + width).contains(&column))
}

/// Returns the text of an item.
fn item_text(item: &menu::Item) -> String {
    let mark = match item.mark {
        Some(true) => "✓ ",
        Some(false) => "  ",
        None => "",
    };
    format!("{mark}{}", item.name)
}

/// Returns the area of an open menu: under its title, or next to the menu that it opened from; always whole on the
/// screen.
fn menu_area(app: &App, depth: usize) -> Rect {
    let open = &app.open[depth];
    let room = middle(app.area);
    let widest = open.items.iter().map(|item| item_text(item).chars().count()).max().unwrap_or(0);
    let width = (widest.min(WIDEST) as u16 + 4).min(room.width);
    let height = (open.items.len() as u16).saturating_add(2).min(room.height);
    let wanted = match depth {
        0 => titles(&app.row()).nth(app.title).map_or(0, |(x, _)| x),
        _ => menu_area(app, depth - 1).x + 3 * depth as u16,
    };
    let x = wanted.min(room.right().saturating_sub(width)).max(room.x);
    let y = (room.y + depth as u16).min(room.bottom().saturating_sub(height)).max(room.y);
    Rect { x, y, width, height }
}

/// Returns the first visible item, so that the chosen one is visible.
fn first_seen(open: &OpenMenu, height: u16) -> usize {
    let room = usize::from(height.saturating_sub(2)).max(1);
    open.at.saturating_sub(room / 2).min(open.items.len().saturating_sub(room))
}

/// Returns the open menu and the item at a position of the screen.
pub fn item_at(app: &App, x: u16, y: u16) -> Option<(usize, usize)> {
    (0..app.open.len()).rev().find_map(|depth| {
        let area = menu_area(app, depth);
        let is_inside =
            (area.x..area.right()).contains(&x) && (area.y + 1..area.bottom().saturating_sub(1)).contains(&y);
        let item = usize::from(y.checked_sub(area.y + 1)?) + first_seen(&app.open[depth], area.height);
        (is_inside && item < app.open[depth].items.len()).then_some((depth, item))
    })
}

/// Draws the first line of `contend top`.
fn top_row(frame: &mut Frame, app: &App, colours: Colours) {
    let area = Rect { height: 1, ..frame.area() };
    let program = app.run.as_ref().map_or_else(String::new, |run| command_line::shown(&run.words[1..]));
    let state = if app.is_running() { "running " } else { "ended " };
    let room = usize::from(area.width).saturating_sub(state.len() + 1);
    let line = Page { width: room, colour: false }.cut(&program.replacen("contend", " contend top", 1));
    put(frame, area, 0, 0, &" ".repeat(usize::from(area.width)), area.width, colours.bar());
    put(frame, area, 0, 0, &line, room as u16, colours.bar());
    put(frame, area, area.width - state.len() as u16, 0, state, area.width, colours.bar());
}

/// Draws the row of titles.
fn titles_row(frame: &mut Frame, app: &App, colours: Colours) {
    let area = Rect { height: 1, ..frame.area() };
    put(frame, area, 0, 0, &" ".repeat(usize::from(area.width)), area.width, colours.bar());
    let row = app.row();
    for (number, ((x, width), menu)) in titles(&row).zip(&row).enumerate() {
        let is_open = !app.open.is_empty() && number == app.title;
        let style = if is_open { Style::new() } else { colours.bar() };
        put(frame, area, x, 0, &format!(" {} ", menu.title()), width, style);
    }
    if app.is_running() {
        let words = "measuring ";
        put(frame, area, area.width.saturating_sub(words.len() as u16), 0, words, area.width, colours.bar());
    }
}

/// Draws the open menus, each in a column.
fn open_menus(frame: &mut Frame, app: &App, colours: Colours) {
    for (depth, open) in app.open.iter().enumerate() {
        let area = menu_area(app, depth);
        let first = first_seen(open, area.height);
        let room = usize::from(area.height.saturating_sub(2));
        frame.render_widget(Clear, area);
        let more = open.items.len().saturating_sub(first + room);
        let block = Block::bordered();
        let block = if more > 0 { block.title_bottom(format!(" {more} more ")) } else { block };
        let inside = block.inner(area);
        frame.render_widget(block, area);
        for (line, (number, item)) in open.items.iter().enumerate().skip(first).take(room).enumerate() {
            let style = match (&item.refusal, number == open.at) {
                (None, true) => colours.chosen(),
                (None, false) => Style::new(),
                (Some(_), true) => colours.grey().patch(colours.bar()),
                (Some(_), false) => colours.grey(),
            };
            let text = format!(" {:<1$}", item_text(item), usize::from(inside.width));
            put(frame, inside, 0, line as u16, &text, inside.width, style);
        }
        if let Some(Action::Form(name)) = open.items.get(open.at).map(|item| &item.action) {
            beside(frame, area, app, name, colours);
        }
    }
}

/// Draws the description of an experiment and its last record to the right of the menu.
fn beside(frame: &mut Frame, menu: Rect, app: &App, name: &str, colours: Colours) {
    let room = middle(app.area);
    let x = menu.right();
    let width = room.right().saturating_sub(x).min(80);
    let inner = usize::from(width.saturating_sub(2));
    let mut about = app.chosen().map_or_else(Vec::new, |item| folded(&item.about, inner));
    about.push(String::new());
    let last = last_record(app, Some(name), inner, usize::from(menu.height).saturating_sub(about.len() + 3));
    let area = Rect { x, width, ..menu };
    let block = Block::bordered().title(format!(" {name} ")).title_bottom(" Enter: form ");
    let inside = block.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(block, area);
    for (line, text) in about.iter().chain(&last).enumerate() {
        let style = if line < about.len() { Style::new() } else { colours.good() };
        put(frame, inside, 0, line as u16, text, inside.width, style);
    }
}

/// The styles of the screen.
///
/// The field says whether they have colours: <https://no-color.org>.
#[derive(Clone, Copy, Debug)]
pub struct Colours(bool);

/// The colours of values in order, the best first.
const ORDER: [Color; 5] = [Color::Green, Color::LightGreen, Color::Yellow, Color::LightRed, Color::Red];
const HUES: [Color; 10] = [
    Color::Cyan,
    Color::Magenta,
    Color::Yellow,
    Color::Green,
    Color::LightBlue,
    Color::LightRed,
    Color::LightMagenta,
    Color::LightCyan,
    Color::LightGreen,
    Color::Blue,
];

impl Colours {
    pub fn from_environment() -> Self {
        Self(std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()))
    }

    fn of(self, colour: Color) -> Style {
        if self.0 { Style::new().fg(colour) } else { Style::new() }
    }

    /// Returns the colour of a place of 0 (the best value) among this number; a single value has none.
    pub fn order(self, order: Option<(usize, usize)>) -> Style {
        match order {
            Some((place, of)) if of > 1 => self.of(ORDER[place * (ORDER.len() - 1) / (of - 1)]),
            _ => Style::new(),
        }
    }

    /// Returns the colour of a row, by its name.
    pub fn name(self, name: &str) -> Style {
        let lock = locks::ENTRIES.iter().position(|entry| entry.name == name);
        let place = lock.unwrap_or_else(|| name.bytes().map(usize::from).sum());
        self.of(HUES[place % HUES.len()])
    }

    pub fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    pub fn grey(self) -> Style {
        if self.0 { Style::new().fg(Color::DarkGray) } else { Style::new().add_modifier(Modifier::DIM) }
    }

    pub fn good(self) -> Style {
        self.of(Color::Green)
    }

    pub fn bad(self) -> Style {
        self.of(Color::LightRed).add_modifier(Modifier::BOLD)
    }

    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}
