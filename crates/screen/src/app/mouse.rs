//! Clicks and the wheel.

use super::{App, View};
use crate::draw::{self, place};
use terminal::full_screen::{Event, Key};

impl App {
    /// A key, a click, or the wheel.
    pub fn event(&mut self, event: Event) {
        match event {
            Event::Key(key) => self.key(key),
            Event::WheelUp => self.wheel(-3),
            Event::WheelDown => self.wheel(3),
            Event::Click(column, line) => self.click(column, line),
        }
    }

    fn wheel(&mut self, by: isize) {
        let key = if by < 0 { Key::Up } else { Key::Down };
        if matches!(self.view, View::Text(_)) && self.open.is_empty() {
            (0..by.abs()).for_each(|_| self.key(key));
        } else if !self.open.is_empty() || !matches!(self.view, View::Welcome) {
            self.key(key);
        }
    }

    fn click(&mut self, column: u16, line: u16) {
        (self.shows_keys, self.quits) = (false, 0);
        if self.editor.is_some() || !draw::is_large_enough(self.area) {
            return;
        }
        if line == 0 {
            if let Some(title) = place::title_at(&self.row(), column) {
                self.title = title;
                self.open_title();
            }
            return;
        }
        match place::item_at(self, column, line) {
            Some((depth, item)) => {
                self.open.truncate(depth + 1);
                self.open[depth].at = item;
                self.take_chosen();
            }
            None if !self.open.is_empty() => self.open.clear(),
            None => self.click_in_view(column, line),
        }
    }

    fn click_in_view(&mut self, column: u16, line: u16) {
        let area = place::middle(self.area);
        if let (View::Matrix, Some(matrix)) = (&self.view, &mut self.matrix)
            && let Some(cell) = crate::draw::table::cell_at(matrix, area, column, line)
        {
            // The second click on a cell marks it.
            if matrix.at == cell { matrix.turn() } else { matrix.at = cell }
        }
    }
}
