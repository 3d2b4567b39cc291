//! The state of the interface: the menus that are open, the view in the middle, the command that runs. Its methods
//! define the effects of selecting a line and of the end of a command; `input` calls them for keys and clicks.

pub mod input;

use crate::command_line::{self, Editor};
use crate::form::{Form, Forms};
use crate::list::List;
use crate::machine::Machine;
use crate::matrix::{CellCommand, Matrix, Target};
use crate::menu::{Action, Item, Menu, MenuContext, STEPS};
use crate::records::Records;
use crate::run::{self, Child, Ended, Run};
use ratatui_core::layout::Rect;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use terminal::escaped;

/// The state of the interface.
pub struct App {
    /// The program that is run: contend itself.
    program: PathBuf,
    pub machine: Machine,
    pub forms: Forms,
    /// The form that is open, over the menus and the view.
    pub form: Option<Form>,
    pub records: Records,
    /// The index of the chosen title of the row.
    pub title: usize,
    /// The menus that are open, each opened from an item of the previous one.
    pub open: Vec<OpenMenu>,
    pub view: View,
    pub run: Option<Run>,
    /// The commands of the matrix that have not started yet.
    waiting: VecDeque<CellCommand>,
    pub matrix: Option<Matrix>,
    /// The reported cell that is shown.
    pub at: usize,
    pub shows_all: bool,
    pub shows_keys: bool,
    pub editor: Option<Editor>,
    pub message: String,
    /// The size of the screen when it was last drawn.
    pub area: Rect,
    pub is_over: bool,
    /// Whether this is `contend top`: one run without menus, whose diagnosis is printed at the end.
    pub is_top: bool,
    /// Whether the interface ends as soon as the run has.
    is_leaving: bool,
    pages: Vec<std::process::Child>,
    quits: u32,
}

/// A menu that is open.
pub struct OpenMenu {
    pub menu: Menu,
    pub items: Vec<Item>,
    pub at: usize,
}

/// The contents of the middle.
pub enum View {
    /// The questions of a new user, and the index of the one in focus.
    Welcome(usize),
    Live,
    Text(Viewer),
    Matrix,
}

impl App {
    pub fn new(program: PathBuf, machine: Machine, records: Records, forms: Forms) -> Self {
        Self {
            program,
            machine,
            forms,
            form: None,
            records,
            title: 0,
            open: Vec::new(),
            view: View::Welcome(0),
            run: None,
            waiting: VecDeque::new(),
            matrix: None,
            at: 0,
            shows_all: false,
            shows_keys: false,
            editor: None,
            message: String::new(),
            area: Rect::ZERO,
            is_over: false,
            is_top: false,
            is_leaving: false,
            pages: Vec::new(),
            quits: 0,
        }
    }

    pub fn is_running(&self) -> bool {
        self.run.as_ref().is_some_and(Run::is_running)
    }

    /// Returns the titles of the row.
    pub fn row(&self) -> Vec<Menu> {
        Menu::row(self.run.is_some())
    }

    fn menu_context(&self) -> MenuContext<'_> {
        let is_running = self.is_running();
        MenuContext { forms: &self.forms, records: &self.records, is_running }
    }

    /// Opens the menu of the chosen title, and closes all others.
    fn open_title(&mut self) {
        let row = self.row();
        self.title = self.title.min(row.len() - 1);
        self.open.clear();
        self.open_menu(row[self.title].clone());
    }

    fn open_menu(&mut self, menu: Menu) {
        if menu == Menu::Archive {
            self.records.look();
        }
        let items = menu.items(&self.menu_context());
        self.open.push(OpenMenu { menu, items, at: 0 });
        self.message.clear();
        self.judge_chosen();
    }

    /// Reads the verdict of the last record of the chosen experiment, which is shown next to the menu.
    fn judge_chosen(&mut self) {
        if let Some(Action::Form(name)) = self.chosen().map(|item| item.action.clone()) {
            self.records.judge(Some(name));
        }
    }

    /// Opens the form of an experiment.
    fn open_form(&mut self, name: &'static str) {
        self.records.judge(Some(name));
        self.form = Some(self.forms.open(name));
        self.message.clear();
    }

    /// Runs the command line of the form, and keeps its values for the next one.
    fn run_form(&mut self) {
        let Some(form) = &self.form else { return };
        if let Some(error) = &form.error {
            self.message = error.clone();
        } else if self.is_running() {
            self.message = BUSY.to_owned();
        } else {
            let words = form.words();
            self.forms.remember(form);
            self.form = None;
            self.open.clear();
            self.start(words);
        }
    }

    /// Makes the lines of all open menus again after a change.
    fn rebuild(&mut self) {
        for place in 0..self.open.len() {
            let items = self.open[place].menu.items(&self.menu_context());
            let open = &mut self.open[place];
            open.at = open.at.min(items.len().saturating_sub(1));
            open.items = items;
        }
    }

    /// Returns the chosen item.
    pub fn chosen(&self) -> Option<&Item> {
        let open = self.open.last()?;
        open.items.get(open.at)
    }

    /// Returns the command line of the form, else of the chosen item or question, else the last one that ran.
    pub fn command_line(&self) -> Option<String> {
        if let Some(form) = &self.form {
            return Some(command_line::shown(&form.words()));
        }
        if let Some(item) = self.chosen() {
            if let Action::Form(name) = item.action {
                return Some(command_line::shown(&self.forms.command(name)));
            }
            return item.action.command().map(command_line::shown);
        }
        if let View::Welcome(step) = self.view {
            return Some(command_line::shown(&self.forms.command(STEPS[step].1)));
        }
        if let (View::Matrix, Some(matrix)) = (&self.view, &self.matrix)
            && !self.is_running()
        {
            let commands = matrix.commands(&self.forms, &self.machine);
            return commands.first().map(|(_, words)| command_line::shown(words));
        }
        self.run.as_ref().map(|run| command_line::shown(&run.words))
    }

    /// Returns whether a list on the screen changes by itself.
    pub fn has_live_list(&self) -> bool {
        self.list().is_some_and(List::is_live)
    }

    /// Returns the list that is open.
    pub fn list(&self) -> Option<&List> {
        self.form.as_ref()?.list.as_ref()
    }

    /// Makes a list again that changes by itself; returns whether anything has changed.
    pub fn refresh(&mut self) -> bool {
        let list = self.form.as_mut().and_then(|form| form.list.as_mut());
        list.is_some_and(List::refresh)
    }

    /// Reads the output of the running command; returns whether anything has changed.
    pub fn look(&mut self) -> bool {
        self.pages.retain_mut(|page| !matches!(page.try_wait(), Ok(Some(_))));
        let Some(run) = &mut self.run else { return false };
        let was_running = run.is_running();
        let is_new = run.look();
        if is_new
            && let (Some(matrix), Some(target)) = (&mut self.matrix, run.target)
            && target.kind == matrix.kind
        {
            matrix.take(&run.feed, target.cell);
        }
        if was_running && !self.is_running() {
            self.end_of_run();
        }
        is_new
    }

    /// Shows this trace only: the interface of `contend top`.
    pub fn watch(&mut self, words: Vec<String>) {
        self.is_top = true;
        self.start(words);
    }

    /// Ends the interface as soon as the command that runs has saved its record.
    fn leave(&mut self) {
        self.is_leaving = true;
        match self.is_running() {
            true => self.stop(),
            false => self.is_over = true,
        }
    }

    fn end_of_run(&mut self) {
        if let (true, Some(run)) = (self.is_top, &self.run) {
            // Without a snapshot there is nothing to look at: the text says why.
            self.is_over = self.is_leaving || run.feed.diagnosis.snapshot().is_none();
            return;
        }
        if self.is_leaving {
            self.is_over = true;
            return;
        }
        let before = self.records.last(None).map(|entry| entry.id.clone());
        self.records.look();
        self.records.judge(None);
        if let Some(matrix) = &mut self.matrix {
            matrix.measured = None;
        }
        let Some(run) = &self.run else { return };
        self.message = run.state();
        if let Some(saved) = self.records.last(None).filter(|entry| Some(&entry.id) != before.as_ref()) {
            self.message += &format!("; record {}", saved.short_id());
        }
        let is_good = run.ended == Some(Ended::Done);
        let page = run.page.clone().filter(|_| is_good);
        if let Some(page) = page {
            self.message = self.open_page(&page);
        } else if !matches!(self.view, View::Matrix) {
            self.show_text();
        }
        match self.waiting.pop_front() {
            Some((target, words)) if is_good => self.start_for(Some(target), words),
            _ => self.waiting.clear(),
        }
        self.rebuild();
    }

    fn open_page(&mut self, page: &Path) -> String {
        match run::open_page(page, &self.machine.allowed) {
            Ok(Some(browser)) => {
                self.pages.push(browser);
                format!("opened {}", page.display())
            }
            Ok(None) => format!("the HTML report is {}; no browser was found (set $BROWSER)", page.display()),
            Err(error) => format!("the HTML report is {}; the browser could not open it: {error}", page.display()),
        }
    }

    /// Shows the output of the last command.
    fn show_text(&mut self) {
        if let Some(run) = &self.run {
            self.view = View::Text(Viewer::new(&run.text()));
        }
    }

    /// Returns whether a command is running, and no other can start; the message says so.
    fn is_busy(&mut self) -> bool {
        let is_running = self.is_running();
        if is_running {
            self.message = BUSY.to_owned();
        }
        is_running
    }

    /// Runs a command, and shows its measurement; returns whether it started, and else the message has the reason.
    fn start(&mut self, words: Vec<String>) -> bool {
        if self.is_busy() {
            return false;
        }
        self.waiting.clear();
        self.start_for(None, words);
        let has_started = self.is_running();
        if has_started {
            self.view = View::Live;
            (self.at, self.shows_all) = (0, false);
        }
        has_started
    }

    /// Runs a command while no other runs.
    fn start_for(&mut self, target: Option<Target>, words: Vec<String>) {
        match Child::start(&self.program, &words, &self.machine) {
            Ok(child) => {
                self.run = Some(Run::new(words, child, target));
                if let Some(matrix) = &mut self.matrix {
                    matrix.measured = target.and_then(|target| target.cell);
                }
                self.message.clear();
            }
            Err(error) => self.message = format!("the command could not be started: {error}"),
        }
    }

    fn start_page(&mut self, words: Vec<String>) {
        if self.is_busy() {
            return;
        }
        let page = words.iter().skip_while(|word| *word != "--output").nth(1).map(PathBuf::from);
        self.start(words);
        // After a failed start, the run is the previous one, which has ended.
        if let Some(run) = self.run.as_mut().filter(|run| run.is_running()) {
            run.page = page;
        }
    }

    /// Stops the command and discards those that would follow it.
    fn stop(&mut self) {
        self.waiting.clear();
        match &mut self.run {
            Some(run) if run.is_running() => run.stop(),
            _ => self.message = "no command is running".to_owned(),
        }
    }

    /// Continues a command that was suspended together with the interface.
    pub fn resume(&self) {
        if let Some(run) = &self.run {
            run.child.resume();
        }
    }

    /// Does what the selected item stands for.
    fn act(&mut self, action: Action) {
        let keeps_menus = action.keeps_menus();
        if !keeps_menus {
            self.open.clear();
        }
        match action {
            Action::Nothing => {}
            Action::Start(words) => _ = self.start(words),
            Action::Form(name) => self.open_form(name),
            Action::Page(words) => self.start_page(words),
            Action::Open(menu) => self.open_menu(menu),
            Action::ToggleRecord(id) => self.records.toggle(&id),
            Action::Matrix(kind) => {
                self.waiting.clear();
                self.matrix = Some(Matrix::new(kind, &self.machine));
                self.view = View::Matrix;
            }
            Action::ShowLive => self.view = View::Live,
            Action::ShowText => self.show_text(),
            Action::Stop => self.stop(),
            Action::Keys => self.shows_keys = true,
            Action::Quit => self.quit(),
        }
        if keeps_menus {
            self.rebuild();
        }
    }

    /// Measures the marked cells of the matrix.
    fn measure_matrix(&mut self) {
        if self.is_busy() {
            return;
        }
        let Some(matrix) = &self.matrix else { return };
        let mut commands: VecDeque<CellCommand> = matrix.commands(&self.forms, &self.machine).into();
        match commands.pop_front() {
            Some((target, words)) => {
                self.waiting = commands;
                self.start_for(Some(target), words);
            }
            None => self.message = matrix.refusal(matrix.at, &self.machine).unwrap_or_default(),
        }
    }

    /// Runs the command line that was edited; returns whether it started, and else the message has the reason.
    fn start_edited(&mut self, line: &str) -> bool {
        let is_screen = |words: &Vec<String>| words.first().is_some_and(|word| word == "screen");
        self.message = match command_line::words(line) {
            Ok(words) if is_screen(&words) => "`contend screen` is already running".to_owned(),
            Ok(words) => return self.start(words),
            Err(why) => why,
        };
        false
    }

    /// Ends the interface; while a command runs, only the second call does, and its record is saved first.
    fn quit(&mut self) {
        self.quits += 1;
        if self.is_running() && self.quits < 2 {
            self.message = "a measurement is running: press q again to stop it, save its results and quit".to_owned();
        } else {
            self.leave();
            self.message.clear();
        }
    }
}

/// The reason not to start a measurement: two at once would distort each other.
const BUSY: &str = "another command is running and would distort the results; stop it first (s)";

/// A text that can be scrolled.
#[derive(Clone, Debug, Default)]
pub struct Viewer {
    lines: Vec<String>,
    top: usize,
    left: usize,
}

impl Viewer {
    /// Characters that a terminal would obey are shown as their numbers.
    pub fn new(text: &str) -> Self {
        let lines = text.lines().map(|line| escaped(&line.replace('\t', "        ")).into_owned());
        Self { lines: lines.collect(), top: 0, left: 0 }
    }

    /// Returns the visible lines on a screen of `height`.
    pub fn visible(&self, height: usize) -> impl Iterator<Item = String> + '_ {
        let from = self.top.min(self.lines.len().saturating_sub(height.max(1)));
        self.lines.iter().skip(from).take(height).map(|line| line.chars().skip(self.left).collect())
    }

    /// Scrolls down by `by` lines on a screen of `height`; up if it is negative.
    pub fn scroll(&mut self, by: isize, height: usize) {
        let last = self.lines.len().saturating_sub(height.max(1));
        self.top = self.top.min(last).saturating_add_signed(by).min(last);
    }

    /// Scrolls to the right by `by` columns, for lines that are wider than the screen.
    pub fn shift(&mut self, by: isize) {
        let widest = self.lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        self.left = self.left.saturating_add_signed(by).min(widest.saturating_sub(1));
    }

    /// Returns the numbers of the visible lines, as text.
    pub fn position(&self, height: usize) -> String {
        let all = self.lines.len();
        if all <= height {
            String::new()
        } else {
            format!("{}–{} of {all}", self.top + 1, (self.top + height).min(all))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrolling_stops_at_the_ends_of_a_text() {
        let mut viewer = Viewer::new("a\nb\nc\x1b[2J\nd");
        viewer.scroll(99, 2);
        assert_eq!(viewer.visible(2).collect::<Vec<_>>(), ["c\\u{1b}[2J", "d"]);
        viewer.scroll(-99, 2);
        viewer.shift(-5);
        assert_eq!(viewer.visible(9).next().unwrap(), "a");
        viewer.shift(999);
        assert!(viewer.visible(2).all(|line| line.is_empty()));
        Viewer::new("").scroll(isize::MAX, 0);
    }
}
