//! The row of titles, and the columns below it.

use super::colours::Colours;
use super::place;
use super::table::put;
use crate::app::App;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::terminal::Frame;
use ratatui_widgets::block::Block;
use ratatui_widgets::clear::Clear;

pub fn row(frame: &mut Frame, app: &App, colours: Colours) {
    let area = Rect { height: 1, ..frame.area() };
    put(frame, area, 0, 0, &" ".repeat(usize::from(area.width)), area.width, colours.bar());
    let row = app.row();
    for (number, ((x, width), menu)) in place::titles(&row).zip(&row).enumerate() {
        let is_open = !app.open.is_empty() && number == app.title;
        let style = if is_open { Style::new() } else { colours.bar() };
        put(frame, area, x, 0, &format!(" {} ", menu.title()), width, style);
    }
    if app.is_running() {
        let words = "measuring ";
        put(frame, area, area.width.saturating_sub(words.len() as u16), 0, words, area.width, colours.bar());
    }
}

pub fn columns(frame: &mut Frame, app: &App, colours: Colours) {
    for (depth, open) in app.open.iter().enumerate() {
        let area = place::column(app, depth);
        let first = place::first_seen(open, area.height);
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
            let words = format!(" {:<1$}", place::words(item), usize::from(inside.width));
            put(frame, inside, 0, line as u16, &words, inside.width, style);
        }
    }
}
