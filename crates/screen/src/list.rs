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
    /// The value in focus; the first row until the user moves.
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
    pub fn visible(&self) -> Vec<&Row> {
        let filter = self.filter.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&filter);
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| has(&row.value) || has(&row.text)).collect();
        rows.sort_by_key(|row| !row.value.to_lowercase().starts_with(&filter));
        rows
    }

    /// Returns the index of the row in focus among those that are visible.
    pub fn at(&self) -> usize {
        self.visible().iter().position(|row| Some(&row.value) == self.chosen.as_ref()).unwrap_or(0)
    }

    pub fn is_marked(&self, row: &Row) -> bool {
        self.marked.contains(&row.value)
    }

    /// Sets the focus to a row, by its index among those that are visible.
    pub fn focus(&mut self, at: usize) {
        self.chosen = self.visible().get(at).map(|row| row.value.clone());
    }

    /// Returns the value to take: the marked ones, else the one in focus, else the text that matches none.
    pub fn value(&self) -> String {
        if !self.marked.is_empty() {
            return self.marked.join(",");
        }
        let rows = self.visible();
        rows.get(self.at()).map_or_else(|| self.filter.clone(), |row| row.value.clone())
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
            Key::Char(' ') if self.takes_several => self.mark(),
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
        self.focus(self.at().saturating_add_signed(by).min(last));
    }

    fn mark(&mut self) {
        let rows = self.visible();
        let Some(value) = rows.get(self.at()).map(|row| row.value.clone()) else { return };
        match self.marked.iter().position(|other| *other == value) {
            Some(at) => _ = self.marked.remove(at),
            None => self.marked.push(value),
        }
        self.move_by(1);
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
        assert_eq!(list.value(), "std");
        types(&mut list, "MCS");
        assert_eq!(list.visible().iter().map(|row| row.value.as_str()).collect::<Vec<_>>(), ["mcs", "clh"]);
        list.key(Key::Down);
        assert_eq!(list.value(), "clh");
        list.key(Key::Backspace);
        assert_eq!(list.value(), "mcs");
    }

    #[test]
    fn marked_values_are_taken_together() {
        let mut list = list();
        types(&mut list, " ");
        types(&mut list, " ");
        assert_eq!(list.value(), "std,mcs");
        list.key(Key::Home);
        types(&mut list, " ");
        assert_eq!(list.value(), "mcs");
    }

    #[test]
    fn text_without_a_match_is_the_value() {
        let mut list = list();
        types(&mut list, "./mine.so");
        assert_eq!((list.visible().len(), list.value()), (0, "./mine.so".to_owned()));
        for key in [Key::Up, Key::End, Key::Char(' ')] {
            list.key(key);
        }
        assert_eq!(list.value(), "./mine.so");
    }
}
