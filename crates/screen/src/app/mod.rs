//! What the screen is at, and what a key, a click or the end of a child makes of it.

pub mod keys;
mod mouse;
mod take;

use crate::child::Child;
use crate::choice::Choice;
use crate::command_line;
use crate::editor::Editor;
use crate::machine::Machine;
use crate::matrix::{Matrix, Wanted};
use crate::menu;
use crate::menu::item::{Given, Item};
use crate::menu::which::Menu;
use crate::open;
use crate::records::Records;
use crate::run::Run;
use crate::viewer::Viewer;
use ratatui_core::layout::Rect;
use std::collections::VecDeque;
use std::path::PathBuf;

/// All of it.
pub struct App {
    /// The program that is run: contend itself.
    program: PathBuf,
    pub machine: Machine,
    pub choice: Choice,
    pub records: Records,
    /// Which title of the row is chosen.
    pub title: usize,
    /// The menus that are open, each from an item of the one before.
    pub open: Vec<OpenMenu>,
    pub view: View,
    pub run: Option<Run>,
    /// What a matrix measures next, each with its cell.
    waiting: VecDeque<Wanted>,
    pub matrix: Option<Matrix>,
    /// The reported cell that is shown.
    pub at: usize,
    pub shows_all: bool,
    pub shows_keys: bool,
    pub editor: Option<Editor>,
    pub message: String,
    /// How large the screen is, by now.
    pub area: Rect,
    pub is_over: bool,
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
    Welcome,
    Live,
    Text(Viewer),
    Matrix,
}

impl App {
    pub fn new(program: PathBuf, machine: Machine, records: Records, archive: Option<PathBuf>) -> Self {
        let choice = Choice::new(&machine, archive);
        Self {
            program,
            machine,
            choice,
            records,
            title: 0,
            open: Vec::new(),
            view: View::Welcome,
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
            pages: Vec::new(),
            quits: 0,
        }
    }

    pub fn is_running(&self) -> bool {
        self.run.as_ref().is_some_and(Run::is_running)
    }

    /// The titles of the row.
    pub fn row(&self) -> Vec<Menu> {
        Menu::row(self.run.is_some())
    }

    fn given(&self) -> Given<'_> {
        let is_running = self.is_running();
        Given { machine: &self.machine, choice: &self.choice, records: &self.records, is_running }
    }

    /// Opens the menu of the title that is chosen, in place of all others.
    fn open_title(&mut self) {
        let row = self.row();
        self.title = self.title.min(row.len() - 1);
        self.open.clear();
        self.open_menu(row[self.title].clone());
    }

    /// Its lines are made now, of what there is now.
    fn open_menu(&mut self, menu: Menu) {
        if menu == Menu::Archive {
            self.records.look();
        }
        let items = menu::items(&menu, &self.given());
        let at = items.iter().position(|item| item.mark == Some(true) && menu == Menu::Time).unwrap_or(0);
        self.open.push(OpenMenu { menu, items, at });
        self.message.clear();
    }

    /// Rebuilds the lines of all open menus, since something has changed.
    fn rebuild(&mut self) {
        for place in 0..self.open.len() {
            let items = menu::items(&self.open[place].menu, &self.given());
            let open = &mut self.open[place];
            open.at = open.at.min(items.len().saturating_sub(1));
            open.items = items;
        }
    }

    /// The item that is chosen.
    pub fn chosen(&self) -> Option<&Item> {
        let open = self.open.last()?;
        open.items.get(open.at)
    }

    /// The command line that what is chosen stands for, else the last one that ran.
    pub fn command_line(&self) -> Option<String> {
        if let Some(item) = self.chosen() {
            return item.action.words().map(command_line::shown);
        }
        if let (View::Matrix, Some(matrix)) = (&self.view, &self.matrix)
            && !self.is_running()
        {
            let commands = matrix.commands(&self.choice, &self.machine);
            return commands.first().map(|(_, words)| command_line::shown(words));
        }
        self.run.as_ref().map(|run| command_line::shown(&run.words))
    }

    /// Takes what children have brought; whether anything has changed.
    pub fn look(&mut self) -> bool {
        self.pages.retain_mut(|page| !matches!(page.try_wait(), Ok(Some(_))));
        let Some(run) = &mut self.run else { return false };
        let was_running = run.is_running();
        let is_new = run.look();
        if is_new
            && let Some(matrix) = &mut self.matrix
            && (matrix.measured.is_some() || run.cell.is_none())
        {
            matrix.take(&run.feed, run.cell);
        }
        if was_running && !self.is_running() {
            self.end_of_run();
        }
        is_new
    }

    fn end_of_run(&mut self) {
        if let Some(matrix) = &mut self.matrix {
            matrix.measured = None;
        }
        let Some(run) = &self.run else { return };
        self.message = run.words_of_state();
        let is_good = run.ended == Some(crate::child::Ended::Done);
        let page = run.page.clone().filter(|_| is_good);
        if let Some(page) = page {
            self.message = self.open_page(&page);
        } else if !matches!(self.view, View::Matrix) {
            self.show_text();
        }
        match self.waiting.pop_front() {
            Some((cell, words)) if is_good => self.start_for(cell, words),
            _ => self.waiting.clear(),
        }
        self.rebuild();
    }

    fn open_page(&mut self, page: &std::path::Path) -> String {
        match open::page(page, &self.machine.allowed) {
            Ok(Some(browser)) => {
                self.pages.push(browser);
                format!("opened {}", page.display())
            }
            Ok(None) => format!("the HTML report is {}; no browser was found (set $BROWSER)", page.display()),
            Err(error) => format!("the HTML report is {}; the browser could not open it: {error}", page.display()),
        }
    }

    /// Shows what the last command printed.
    fn show_text(&mut self) {
        if let Some(run) = &self.run {
            self.view = View::Text(Viewer::of(&run.text()));
        }
    }

    /// Runs a command, and shows what it measures.
    fn start(&mut self, words: Vec<String>) {
        self.waiting.clear();
        self.start_for(None, words);
        if self.is_running() {
            self.view = View::Live;
            (self.at, self.shows_all) = (0, false);
        }
    }

    fn start_for(&mut self, cell: Option<(usize, usize)>, words: Vec<String>) {
        if self.is_running() {
            self.message = "another command is running; stop it first (s)".to_owned();
            return;
        }
        match Child::start(&self.program, &words, &self.machine) {
            Ok(child) => {
                self.run = Some(Run::of(words, child, cell));
                if let Some(matrix) = &mut self.matrix {
                    matrix.measured = cell;
                }
                self.message.clear();
            }
            Err(error) => self.message = format!("the command could not be started: {error}"),
        }
    }

    fn start_page(&mut self, words: Vec<String>) {
        let page = words.iter().skip_while(|word| *word != "--output").nth(1).map(PathBuf::from);
        self.start(words);
        if let Some(run) = &mut self.run {
            run.page = page;
        }
    }

    /// Asks what runs to end; nothing else is measured after it.
    fn stop(&mut self) {
        self.waiting.clear();
        match &mut self.run {
            Some(run) if run.is_running() => run.stop(),
            _ => self.message = "no command is running".to_owned(),
        }
    }

    /// Lets what was stopped with the screen go on.
    pub fn resume(&self) {
        if let Some(run) = &self.run {
            run.child.resume();
        }
    }
}
