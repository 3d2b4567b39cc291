//! Keys, clicks and the mouse wheel: the effect of each, and the table of keys that `?` shows.

use super::{App, View};
use crate::command_line::Editor;
use crate::draw::{self, table};
use crate::form::Edit;
use crate::menu::{Action, Menu, STEPS};
use terminal::full_screen::{self, Event, Key};

impl App {
    /// Handles a key, a click or the wheel.
    pub fn event(&mut self, event: Event) {
        match event {
            Event::Key(key) => self.key(key),
            Event::WheelUp => self.wheel(-3),
            Event::WheelDown => self.wheel(3),
            Event::Click(column, line) => self.click(column, line),
        }
    }

    fn key(&mut self, key: Key) {
        if key != Key::Char('q') {
            self.quits = 0;
        }
        if self.shows_keys {
            self.shows_keys = false;
        } else if self.is_top {
            self.key_of_top(key);
        } else if self.editor.is_some() {
            self.key_of_editor(key);
        } else if self.form.is_some() {
            self.key_of_form(key);
        } else if !self.key_of_all(key) {
            match self.open.is_empty() {
                false => self.key_of_menu(key),
                true => self.key_of_view(key),
            }
        }
    }

    /// Handles a key of `contend top`.
    fn key_of_top(&mut self, key: Key) {
        match key {
            Key::Char('?') | Key::F1 => self.shows_keys = true,
            Key::Char('q') | Key::Ctrl('c') => self.leave(),
            Key::Char('s') => self.key_of_diagnosis(Key::Char('o')),
            key => self.key_of_diagnosis(key),
        }
    }

    fn key_of_diagnosis(&mut self, key: Key) {
        if let Some(run) = &mut self.run {
            run.feed.diagnosis.key(key);
        }
    }

    fn key_of_editor(&mut self, key: Key) {
        let Some(editor) = &mut self.editor else { return };
        self.message.clear();
        match key {
            Key::Enter => {
                let line = editor.line();
                // A line that is refused stays, to be corrected.
                if self.start_edited(&line) {
                    self.editor = None;
                }
            }
            Key::Escape | Key::Ctrl('c') => self.editor = None,
            Key::F1 => self.shows_keys = true,
            key => editor.key(key),
        }
    }

    /// Handles a key of a form, or of its list. `?` is a letter only in a program or a command.
    fn key_of_form(&mut self, key: Key) {
        let Some(form) = &mut self.form else { return };
        let focus = form.focus().map(|field| (field.edit(), field.is_argument()));
        if key == Key::F1 || (key == Key::Char('?') && focus != Some((Edit::Text, true))) {
            self.shows_keys = true;
            return;
        }
        if let Some(list) = &mut form.list {
            match key {
                Key::Enter => form.take(),
                Key::Escape | Key::Ctrl('c') => form.list = None,
                key => list.key(key),
            }
            return;
        }
        self.message.clear();
        match key {
            Key::Escape => self.form = None,
            Key::Up | Key::BackTab => form.move_by(-1),
            Key::Down | Key::Tab => form.move_by(1),
            Key::PageUp => form.move_by(isize::MIN),
            Key::PageDown => form.move_by(isize::MAX),
            Key::Enter if focus.is_none() => self.run_form(),
            Key::Enter => form.enter(),
            key if form.key(key) => {}
            key => _ = self.key_of_all(key),
        }
    }

    /// Handles a key that means the same everywhere; returns whether it was one.
    fn key_of_all(&mut self, key: Key) -> bool {
        match key {
            Key::Char('?') | Key::F1 => self.shows_keys = true,
            Key::Char('q') => self.quit(),
            Key::Ctrl('c') if self.is_running() => self.stop(),
            Key::Ctrl('c') => self.is_over = true,
            Key::Char('s') => self.stop(),
            Key::Char('e') => {
                let line = self.command_line().unwrap_or_else(|| "contend ".to_owned());
                self.open.clear();
                self.form = None;
                self.message.clear();
                self.editor = Some(Editor::new(&line));
            }
            Key::Char('c') => self.copy(),
            Key::Char('l') if self.run.is_some() => {
                self.open.clear();
                self.form = None;
                self.view = View::Live;
            }
            Key::Char('t') if self.run.is_some() => {
                self.open.clear();
                self.form = None;
                self.show_text();
            }
            _ => return false,
        }
        true
    }

    fn copy(&mut self) {
        let Some(line) = self.command_line() else { return };
        self.message = match full_screen::copy(&line) {
            Ok(()) => format!("copied: {line}"),
            Err(error) => format!("not copied: {error}"),
        };
    }

    fn key_of_menu(&mut self, key: Key) {
        let page = usize::from(self.area.height.saturating_sub(8)).max(1);
        match key {
            Key::Escape => _ = self.open.pop(),
            Key::Left if self.open.len() > 1 => _ = self.open.pop(),
            Key::Left | Key::BackTab => self.open_adjacent_title(self.row().len() - 1),
            Key::Right | Key::Tab => self.open_adjacent_title(1),
            Key::Up => self.move_by(-1),
            Key::Down => self.move_by(1),
            Key::PageUp => self.move_by(-(page as isize)),
            Key::PageDown => self.move_by(page as isize),
            Key::Home => self.move_by(isize::MIN),
            Key::End => self.move_by(isize::MAX),
            Key::Enter => self.select_chosen(),
            Key::Char(' ') => self.mark_chosen(),
            _ => {}
        }
    }

    /// Opens the menu `by` titles further in the row.
    fn open_adjacent_title(&mut self, by: usize) {
        self.title = (self.title + by) % self.row().len();
        self.open_title();
    }

    fn move_by(&mut self, by: isize) {
        self.message.clear();
        if let Some(open) = self.open.last_mut() {
            let last = open.items.len().saturating_sub(1);
            open.at = open.at.saturating_add_signed(by).min(last);
        }
        self.judge_chosen();
    }

    /// Selects the chosen item; a grey one shows its reason instead.
    fn select_chosen(&mut self) {
        let Some(item) = self.chosen().cloned() else { return };
        match item.refusal {
            Some(why) => self.message = why,
            None => self.act(item.action),
        }
    }

    fn mark_chosen(&mut self) {
        let record = self.chosen().and_then(|item| match &item.action {
            Action::Open(Menu::Record(id)) => Some(id.clone()),
            _ => None,
        });
        match record {
            Some(id) => {
                self.records.toggle(&id);
                self.rebuild();
            }
            None if self.chosen().is_some_and(|item| item.mark.is_some()) => self.select_chosen(),
            None => {}
        }
    }

    fn key_of_view(&mut self, key: Key) {
        let height = usize::from(self.area.height.saturating_sub(4));
        let page = height.max(1) as isize;
        if let (View::Live, Some(run)) = (&self.view, &mut self.run)
            && run.feed.diagnosis.snapshot().is_some()
            && run.feed.diagnosis.key(key)
        {
            return;
        }
        let is_running = self.is_running();
        match (key, &mut self.view) {
            (Key::Char('m') | Key::F10, _) => self.open_title(),
            (Key::Up, View::Welcome(step)) => *step = step.saturating_sub(1),
            (Key::Down, View::Welcome(step)) => *step = (*step + 1).min(STEPS.len() - 1),
            (Key::Enter, View::Welcome(step)) => {
                let (_, name) = STEPS[*step];
                self.open_form(name);
            }
            (Key::Left | Key::Right | Key::Up | Key::Down | Key::Char(' ') | Key::Enter, View::Matrix) => {
                self.key_of_matrix(key);
            }
            (Key::Up, View::Text(text)) => text.scroll(-1, height),
            (Key::Down, View::Text(text)) => text.scroll(1, height),
            (Key::PageUp, View::Text(text)) => text.scroll(-page, height),
            (Key::PageDown | Key::Char(' '), View::Text(text)) => text.scroll(page, height),
            (Key::Home, View::Text(text)) => text.scroll(isize::MIN, height),
            (Key::End, View::Text(text)) => text.scroll(isize::MAX, height),
            (Key::Left, View::Text(text)) => text.shift(-8),
            (Key::Right, View::Text(text)) => text.shift(8),
            (Key::Char('v'), _) => self.shows_all = !self.shows_all,
            (Key::Tab | Key::Down, View::Live) => self.look_at(1),
            (Key::BackTab | Key::Up, View::Live) => self.look_at(-1),
            (Key::Escape, View::Text(_)) if self.matrix.is_some() => self.view = View::Matrix,
            (Key::Escape, _) if !is_running => self.view = View::Welcome(0),
            (Key::Enter | Key::Left | Key::Right, _) => self.open_title(),
            _ => {}
        }
    }

    /// Shows another of the reported cells.
    fn look_at(&mut self, by: isize) {
        let all = self.run.as_ref().map_or(0, |run| run.feed.places().count());
        self.at = self.at.saturating_add_signed(by).min(all.saturating_sub(1));
    }

    fn key_of_matrix(&mut self, key: Key) {
        let Some(matrix) = &mut self.matrix else { return };
        let (row, column) = &mut matrix.at;
        match key {
            Key::Left => *column = column.saturating_sub(1),
            Key::Right => *column = (*column + 1).min(matrix.columns.len().saturating_sub(1)),
            Key::Up => *row = row.saturating_sub(1),
            Key::Down => *row = (*row + 1).min(matrix.rows.len().saturating_sub(1)),
            Key::Char(' ') => matrix.toggle(),
            _ => return self.measure_matrix(),
        }
        self.message.clear();
    }

    fn wheel(&mut self, by: isize) {
        let key = if by < 0 { Key::Up } else { Key::Down };
        if matches!(self.view, View::Text(_)) && self.open.is_empty() {
            (0..by.abs()).for_each(|_| self.key(key));
        } else if !self.open.is_empty() || !matches!(self.view, View::Welcome(_)) {
            self.key(key);
        }
    }

    fn click(&mut self, column: u16, line: u16) {
        (self.shows_keys, self.quits) = (false, 0);
        if self.is_top || self.editor.is_some() || !draw::is_large_enough(self.area) {
            return;
        }
        if line == 0 {
            if let Some(title) = draw::title_at(&self.row(), column) {
                self.form = None;
                self.title = title;
                self.open_title();
            }
            return;
        }
        if let Some(form) = &mut self.form {
            let at = draw::form::line_at(form, self.area, column, line);
            return match (at, &mut form.list) {
                (Some(at), Some(list)) => {
                    list.focus(at);
                    // Once rows are marked, a click marks another: the value is that of the marks.
                    if list.has_marks() { _ = list.toggle() } else { form.take() }
                }
                (Some(at), None) if form.at == at => self.key_of_form(Key::Enter),
                (Some(at), None) => form.at = at,
                (None, _) => {}
            };
        }
        match draw::item_at(self, column, line) {
            Some((depth, item)) => {
                self.open.truncate(depth + 1);
                self.open[depth].at = item;
                self.select_chosen();
            }
            None if !self.open.is_empty() => self.open.clear(),
            None => self.click_in_view(column, line),
        }
    }

    fn click_in_view(&mut self, column: u16, line: u16) {
        let area = draw::middle(self.area);
        if let View::Welcome(step) = &mut self.view
            && let Some(at) = draw::welcome::step_at(area, line)
        {
            *step = at;
            self.open_form(STEPS[at].1);
        }
        if let (View::Matrix, Some(matrix)) = (&self.view, &mut self.matrix)
            && let Some(cell) = table::cell_at(matrix, area, column, line)
        {
            // The second click on a cell marks it.
            if matrix.at == cell { matrix.toggle() } else { matrix.at = cell }
        }
    }
}
