//! A list to choose from: typing filters its rows, the arrow keys choose one, the space bar marks several.

use std::time::{Duration, Instant};
use terminal::full_screen::Key;

/// A row of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub value: String,
    pub text: String,
}

/// Makes the rows of a list that changes by itself.
type Source = Box<dyn FnMut() -> Vec<Row>>;

/// A list, with its filter, the row in focus and the marks.
pub struct List {
    rows: Vec<Row>,
    pub heading: &'static str,
    pub filter: String,
    /// The value in focus; the first row until the user moves. Its row may be gone from a list that changes.
    chosen: Option<String>,
    marked: Vec<String>,
    /// Whether several values can be taken.
    pub takes_several: bool,
    /// The source of the rows, if they change, and the time at which it was called last.
    source: Option<(Source, Instant)>,
}

/// The time between two calls of a source.
const REFRESH: Duration = Duration::from_millis(750);
/// The most characters of a filter.
const LONGEST: usize = 200;

impl List {
    pub fn new(rows: Vec<Row>, takes_several: bool) -> Self {
        let (filter, marked) = (String::new(), Vec::new());
        Self { rows, heading: "", filter, chosen: None, marked, takes_several, source: None }
    }

    /// Creates a list whose rows change while it is shown.
    pub fn live(heading: &'static str, takes_several: bool, mut source: Source) -> Self {
        let rows = source();
        Self { heading, source: Some((source, Instant::now())), ..Self::new(rows, takes_several) }
    }

    /// Starts with these values, separated by commas: marked if the list takes several, else in focus.
    pub fn with_value(mut self, value: &str) -> Self {
        let several = self.takes_several;
        let values = value.split(|letter| several && letter == ',').filter(|value| !value.is_empty());
        let mut values: Vec<String> = values.map(str::to_owned).collect();
        self.chosen = values.first().cloned();
        let has_row = |value: &String| self.rows.iter().any(|row| row.value == *value);
        if self.is_live() {
            // A process that has ended has no mark.
            values.retain(has_row);
        } else {
            // A value that is not offered, such as a path, has a row as well, so that its mark can be removed.
            let others: Vec<String> = values.iter().filter(|value| !has_row(value)).cloned().collect();
            self.rows.splice(..0, others.into_iter().map(|value| Row { text: value.clone(), value }));
        }
        if several {
            self.marked = values;
        }
        self
    }

    /// Adds a first row that takes no value, for the default.
    pub fn beginning_with_default(mut self, default: &str) -> Self {
        let text = format!("{:<18} {default}", "default");
        self.rows.insert(0, Row { value: String::new(), text });
        self
    }

    /// Returns whether its rows change by themselves.
    pub fn is_live(&self) -> bool {
        self.source.is_some()
    }

    /// Makes the rows again if they are old; returns whether it did.
    pub fn refresh(&mut self) -> bool {
        // The row in focus stays in focus, although the order changes.
        if self.chosen.is_none() {
            self.focus(0);
        }
        let Some((source, called)) = &mut self.source else { return false };
        if called.elapsed() < REFRESH {
            return false;
        }
        *called = Instant::now();
        self.rows = source();
        true
    }

    /// Returns the rows that the filter leaves; those whose value begins with it come first.
    ///
    /// The row of the default is left only while there is no filter.
    pub fn visible(&self) -> Vec<&Row> {
        let filter = self.filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&filter);
        let is_left = |row: &&Row| filter.is_empty() || !row.value.is_empty() && (has(&row.value) || has(&row.text));
        let mut rows: Vec<&Row> = self.rows.iter().filter(is_left).collect();
        rows.sort_by_key(|row| !row.value.to_lowercase().starts_with(&filter));
        rows
    }

    /// Returns the index of the row in focus among those that are visible; `None` if that row is gone.
    pub fn at(&self) -> Option<usize> {
        let rows = self.visible();
        match &self.chosen {
            Some(chosen) => rows.iter().position(|row| row.value == *chosen),
            None => (!rows.is_empty()).then_some(0),
        }
    }

    /// Returns whether the row in focus is gone, and the user has not chosen another.
    pub fn has_lost_focus(&self) -> bool {
        self.chosen.is_some() && self.at().is_none()
    }

    pub fn has_marks(&self) -> bool {
        !self.marked.is_empty()
    }

    pub fn is_marked(&self, row: &Row) -> bool {
        self.marked.contains(&row.value)
    }

    /// Sets the focus to a row, by its index among those that are visible.
    pub fn focus(&mut self, at: usize) {
        self.chosen = self.visible().get(at).map(|row| row.value.clone());
    }

    /// Returns the value to take: the marked ones, else the one in focus, else the text that matches none.
    ///
    /// It is `None` if the row in focus is gone.
    pub fn value(&self) -> Option<String> {
        if self.has_marks() {
            return Some(self.marked.join(","));
        }
        match self.at() {
            Some(at) => Some(self.visible()[at].value.clone()),
            None => self.chosen.is_none().then(|| self.filter.clone()),
        }
    }

    /// Handles a key that moves, marks or filters.
    pub fn key(&mut self, key: Key) {
        match key {
            Key::Up => self.move_by(-1),
            Key::Down => self.move_by(1),
            Key::PageUp => self.move_by(-10),
            Key::PageDown => self.move_by(10),
            Key::Home => self.move_by(isize::MIN),
            Key::End => self.move_by(isize::MAX),
            Key::Char(' ') if self.takes_several => {
                let is_done = self.toggle();
                self.move_by(isize::from(is_done));
            }
            Key::Char(letter) if self.filter.len() < LONGEST => {
                self.filter.push(letter);
                self.chosen = None;
            }
            Key::Backspace => {
                self.filter.pop();
                self.chosen = None;
            }
            Key::Ctrl('u') => self.filter.clear(),
            _ => {}
        }
    }

    fn move_by(&mut self, by: isize) {
        let last = self.visible().len().saturating_sub(1);
        self.focus(self.at().map_or(0, |at| at.saturating_add_signed(by).min(last)));
    }

    /// Marks the row in focus, or removes its mark; returns whether there is such a row. The default has no mark.
    pub fn toggle(&mut self) -> bool {
        let Some(value) = self.at().map(|at| self.visible()[at].value.clone()) else { return false };
        match self.marked.iter().position(|other| *other == value) {
            Some(at) => _ = self.marked.remove(at),
            None if value.is_empty() => {}
            None => self.marked.push(value),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> List {
        let row = |(value, about): (&str, &str)| Row { value: value.into(), text: format!("{value} {about}") };
        List::new([("std", "of Rust"), ("mcs", "a queue"), ("clh", "like mcs")].map(row).into(), true)
    }

    fn types(list: &mut List, text: &str) {
        text.chars().for_each(|letter| list.key(Key::Char(letter)));
    }

    #[test]
    fn typing_filters_and_prefers_the_beginning_of_a_value() {
        let mut list = list();
        assert_eq!(list.value().unwrap(), "std");
        types(&mut list, "MCS");
        assert_eq!(list.visible().iter().map(|row| row.value.as_str()).collect::<Vec<_>>(), ["mcs", "clh"]);
        list.key(Key::Down);
        assert_eq!(list.value().unwrap(), "clh");
        list.key(Key::Backspace);
        assert_eq!(list.value().unwrap(), "mcs");
    }

    #[test]
    fn marked_values_are_taken_together() {
        let mut list = list();
        types(&mut list, " ");
        types(&mut list, " ");
        assert_eq!(list.value().unwrap(), "std,mcs");
        list.key(Key::Home);
        types(&mut list, " ");
        assert_eq!(list.value().unwrap(), "mcs");
    }

    #[test]
    fn text_without_a_match_is_the_value() {
        let mut list = list();
        types(&mut list, "./mine.so");
        assert_eq!((list.visible().len(), list.value()), (0, Some("./mine.so".to_owned())));
        for key in [Key::Up, Key::End, Key::Char(' ')] {
            list.key(key);
        }
        assert_eq!(list.value().unwrap(), "./mine.so");
    }

    #[test]
    fn default_row_is_first_unmarked_and_unfiltered() {
        let mut list = list().beginning_with_default("std,mcs");
        types(&mut list, " ");
        assert!(!list.has_marks());
        list.key(Key::Home);
        assert_eq!(list.value().unwrap(), "");
        types(&mut list, "m");
        assert_eq!(list.visible()[0].value, "mcs");
        assert!(list.visible().iter().all(|row| !row.value.is_empty()));
    }

    #[test]
    fn vanished_row_in_focus_is_not_replaced() {
        let row = |value: &str| Row { value: value.into(), text: value.into() };
        let mut calls = 0;
        let source = move || {
            calls += 1;
            if calls == 1 { vec![row("1"), row("2")] } else { vec![row("1"), row("3")] }
        };
        let mut list = List::live("", false, Box::new(source));
        list.key(Key::Down);
        assert_eq!(list.value().unwrap(), "2");
        list.source.as_mut().unwrap().1 -= REFRESH;
        assert!(list.refresh());
        assert_eq!((list.value(), list.at(), list.has_lost_focus()), (None, None, true));
        list.key(Key::Down);
        assert_eq!(list.value().unwrap(), "1");
    }
}
