//! What happens when an item is taken.

use super::{App, View};
use crate::action::Action;
use crate::command_line;
use crate::editor::Editor;
use crate::matrix::Matrix;

impl App {
    /// What an item does; what only marks something leaves the menus open.
    pub(super) fn take(&mut self, action: Action) {
        let stays = matches!(
            action,
            Action::TurnLock(_)
                | Action::TurnThreads(_)
                | Action::TurnCpu(_)
                | Action::SetTime(_)
                | Action::TurnRecord(_)
                | Action::Open(_)
                | Action::Nothing
        );
        if !stays {
            self.open.clear();
        }
        match action {
            Action::Nothing => {}
            Action::Start(words) => self.start(words),
            Action::Edit(words) => self.editor = Some(Editor::of(&command_line::shown(&words))),
            Action::Page(words) => self.start_page(words),
            Action::Open(menu) => self.open_menu(menu),
            Action::TurnLock(name) => self.choice.turn_lock(name),
            Action::TurnThreads(number) => self.choice.turn_threads(number),
            Action::TurnCpu(cpu) => self.choice.turn_cpu(cpu),
            Action::SetTime(time) => self.choice.time = time,
            Action::TurnRecord(id) => self.records.turn(&id),
            Action::Matrix(kind) => {
                self.matrix = Some(Matrix::new(kind, &self.machine));
                self.view = View::Matrix;
            }
            Action::ShowLive => self.view = View::Live,
            Action::ShowText => self.show_text(),
            Action::Stop => self.stop(),
            Action::Keys => self.shows_keys = true,
            Action::Quit => self.quit(),
        }
        if stays {
            self.rebuild();
        }
    }

    /// Starts what a matrix has marked, if it can be had.
    pub(super) fn measure_matrix(&mut self) {
        if self.is_running() {
            self.message = "another command is running; stop it first (s)".to_owned();
            return;
        }
        let Some(matrix) = &self.matrix else { return };
        let mut commands: std::collections::VecDeque<_> = matrix.commands(&self.choice, &self.machine).into();
        match commands.pop_front() {
            Some((cell, words)) => {
                self.waiting = commands;
                self.start_for(cell, words);
            }
            None => self.message = matrix.refusal(matrix.at, &self.machine).unwrap_or_default(),
        }
    }

    /// The line that was changed is run.
    pub(super) fn start_edited(&mut self, line: &str) {
        match command_line::words(line) {
            Ok(words) if words.first().is_some_and(|word| word == "screen") => {
                self.message = "`contend screen` is already running".to_owned();
            }
            Ok(words) => self.start(words),
            Err(why) => self.message = why,
        }
    }

    /// Over; while something is measured only when it is asked for twice.
    pub(super) fn quit(&mut self) {
        self.quits += 1;
        if self.is_running() && self.quits < 2 {
            self.message = "a measurement is running: press q again to stop it, save its results and quit".to_owned();
        } else {
            self.is_over = true;
        }
    }
}
