//! The diagnosis of a program that is traced: its snapshots, their order, and the lock that is chosen.

use harness::Shown;
use std::cmp::Ordering;
use std::collections::HashMap;
use terminal::escaped;
use terminal::full_screen::Key;

/// The snapshots of a traced program, and the user's choices about them.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// The classes that arrived since the last complete snapshot.
    pending: Vec<Class>,
    latest: Option<Snapshot>,
    /// The total waits of all classes that were ever reported: those with little waiting are reported now and then.
    known: HashMap<(String, String), f64>,
    /// The snapshot that is shown while the view is paused.
    paused: Option<Snapshot>,
    order: Order,
    /// The chosen class; the first line until the user chooses another.
    chosen: Option<(String, String)>,
    /// The first line of the story that is shown; `None` without a story.
    story_top: Option<usize>,
}

/// The state of the program at one time.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub at_s: f64,
    /// The budget, the verdict, and the threads that wait for each other.
    pub sentences: Vec<String>,
    pub classes: Vec<Class>,
}

/// A class of locks.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// The name, and the text that distinguishes it from other classes of the same name.
    key: (String, String),
    pub lock_type: String,
    /// The time waited for it since the start.
    pub waited_s: f64,
    /// The time waited for it in each second since the previous snapshot.
    pub rate: f64,
    pub contended: Option<u64>,
    pub wait_p99_ns: Option<f64>,
    pub story: Vec<String>,
}

/// The order of the classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Now,
    Total,
    Waits,
    Longest,
    Name,
}

/// The orders, each with its name.
const ORDERS: [(Order, &str); 5] = [
    (Order::Now, "waited now"),
    (Order::Total, "waited in total"),
    (Order::Waits, "waits"),
    (Order::Longest, "p99"),
    (Order::Name, "name"),
];

impl Class {
    pub fn name(&self) -> &str {
        &self.key.0
    }
}

impl Order {
    pub fn name(self) -> &'static str {
        ORDERS.iter().find(|(order, _)| *order == self).map_or("", |(_, name)| name)
    }

    fn next(self) -> Self {
        let at = ORDERS.iter().position(|(order, _)| *order == self).unwrap_or(0);
        ORDERS[(at + 1) % ORDERS.len()].0
    }

    fn compare(self, one: &Class, other: &Class) -> Ordering {
        let by_total = || other.waited_s.total_cmp(&one.waited_s);
        let first = match self {
            Self::Now => other.rate.total_cmp(&one.rate).then_with(by_total),
            Self::Total => by_total(),
            Self::Waits => other.contended.cmp(&one.contended),
            Self::Longest => other.wait_p99_ns.unwrap_or(0.0).total_cmp(&one.wait_p99_ns.unwrap_or(0.0)),
            Self::Name => Ordering::Equal,
        };
        first.then_with(|| one.key.cmp(&other.key))
    }
}

impl Diagnosis {
    /// Adds a report of the child.
    pub fn add(&mut self, at_s: f64, key: (String, String), shown: Shown) {
        let clean = |lines: Vec<String>| lines.iter().map(|line| escaped(line).into_owned()).collect();
        match shown {
            Shown::Class { lock_type, waited_s, contended, wait_p99_ns, story } => {
                let lock_type = escaped(&lock_type).into_owned();
                let story = clean(story);
                let class = Class { key, lock_type, waited_s, rate: 0.0, contended, wait_p99_ns, story };
                self.pending.retain(|other| other.key != class.key);
                self.pending.push(class);
            }
            Shown::Diagnosis { sentences } => {
                let mut classes = std::mem::take(&mut self.pending);
                let before = self.latest.take().unwrap_or_default();
                let span_s = (at_s - before.at_s).max(f64::MIN_POSITIVE);
                let is_first = self.known.is_empty();
                for class in &mut classes {
                    let since = self.known.insert(class.key.clone(), class.waited_s);
                    // The waits of a class that is new here may have been long ago.
                    let since = since.unwrap_or(if is_first { 0.0 } else { class.waited_s });
                    class.rate = (class.waited_s - since).max(0.0) / span_s;
                }
                self.latest = Some(Snapshot { at_s, sentences: clean(sentences), classes });
            }
            _ => {}
        }
    }

    /// Returns the snapshot to show: the latest, or the one at which the view was paused.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.paused.as_ref().or(self.latest.as_ref())
    }

    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    pub fn order(&self) -> Order {
        self.order
    }

    /// Returns the classes in their order.
    pub fn classes(&self) -> Vec<&Class> {
        let mut classes: Vec<&Class> = self.snapshot().into_iter().flat_map(|shown| &shown.classes).collect();
        classes.sort_by(|one, other| self.order.compare(one, other));
        classes
    }

    /// Returns the index of the chosen class.
    pub fn chosen(&self) -> usize {
        let is_chosen = |class: &&Class| self.chosen.as_ref() == Some(&class.key);
        self.classes().iter().position(is_chosen).unwrap_or(0)
    }

    /// Returns the class whose story is shown, and the first line to show.
    pub fn story(&self) -> Option<(&Class, usize)> {
        Some((self.classes().get(self.chosen()).copied()?, self.story_top?))
    }

    /// Handles a key; returns whether it has a meaning here.
    pub fn key(&mut self, key: Key) -> bool {
        match (key, self.story_top) {
            (Key::Char('p'), _) => {
                self.paused = if self.paused.is_some() { None } else { self.latest.clone() };
            }
            (Key::Char('o'), _) => self.order = self.order.next(),
            (Key::Enter | Key::Escape, Some(_)) => self.story_top = None,
            (Key::Up, Some(top)) => self.story_top = Some(top.saturating_sub(1)),
            (Key::Down, Some(top)) => {
                let last = self.story().map_or(0, |(class, _)| class.story.len().saturating_sub(1));
                self.story_top = Some((top + 1).min(last));
            }
            (Key::Enter, None) => self.open_story(),
            (Key::Up, None) => self.move_by(-1),
            (Key::Down, None) => self.move_by(1),
            (Key::PageUp | Key::Home, None) => self.move_by(isize::MIN),
            (Key::PageDown | Key::End, None) => self.move_by(isize::MAX),
            _ => return false,
        }
        true
    }

    fn open_story(&mut self) {
        self.move_by(0);
        self.story_top = self.chosen.is_some().then_some(0);
    }

    fn move_by(&mut self, by: isize) {
        let last = self.classes().len().saturating_sub(1);
        let at = self.chosen().saturating_add_signed(by).min(last);
        self.chosen = self.classes().get(at).map(|class| class.key.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, waited_s: f64, contended: u64) -> ((String, String), Shown) {
        let story = vec![format!("the story of {name}")];
        let (contended, wait_p99_ns) = (Some(contended), Some(1e9 / contended as f64));
        let shown = Shown::Class { lock_type: "mutex".into(), waited_s, contended, wait_p99_ns, story };
        ((name.to_owned(), "1 0x10".to_owned()), shown)
    }

    fn snapshot(diagnosis: &mut Diagnosis, at_s: f64, classes: &[(&str, f64, u64)]) {
        for (name, waited_s, contended) in classes {
            let (key, shown) = class(name, *waited_s, *contended);
            diagnosis.add(at_s, key, shown);
        }
        let sentences = vec![format!("Thread time at {at_s}")];
        diagnosis.add(at_s, (String::new(), String::new()), Shown::Diagnosis { sentences });
    }

    fn names(diagnosis: &Diagnosis) -> Vec<&str> {
        diagnosis.classes().iter().map(|class| class.name()).collect()
    }

    #[test]
    fn order_follows_the_waits_of_the_last_second() {
        let mut diagnosis = Diagnosis::default();
        snapshot(&mut diagnosis, 1.0, &[("a", 5.0, 9), ("b", 1.0, 2)]);
        assert_eq!(names(&diagnosis), ["a", "b"]);
        snapshot(&mut diagnosis, 3.0, &[("a", 5.5, 9), ("b", 4.0, 3)]);
        assert_eq!(names(&diagnosis), ["b", "a"]);
        assert_eq!(diagnosis.classes()[0].rate, 1.5);
        diagnosis.key(Key::Char('o'));
        assert_eq!((diagnosis.order().name(), names(&diagnosis)), ("waited in total", vec!["a", "b"]));
        for _ in 0..4 {
            diagnosis.key(Key::Char('o'));
        }
        assert_eq!(diagnosis.order(), Order::Now);
    }

    #[test]
    fn waits_of_the_past_are_not_those_of_the_last_second() {
        let mut diagnosis = Diagnosis::default();
        snapshot(&mut diagnosis, 1.0, &[("a", 5.0, 9)]);
        // Only the classes that were waited for most are reported: b was waited for long ago.
        snapshot(&mut diagnosis, 2.0, &[("b", 40.0, 9)]);
        assert_eq!(diagnosis.classes()[0].rate, 0.0);
        snapshot(&mut diagnosis, 3.0, &[("a", 5.5, 9)]);
        assert_eq!(diagnosis.classes()[0].rate, 0.5);
    }

    #[test]
    fn chosen_lock_stays_chosen_when_the_order_changes() {
        let mut diagnosis = Diagnosis::default();
        snapshot(&mut diagnosis, 1.0, &[("a", 5.0, 9), ("b", 1.0, 2)]);
        diagnosis.key(Key::Down);
        assert_eq!(diagnosis.chosen(), 1);
        snapshot(&mut diagnosis, 2.0, &[("a", 5.5, 9), ("b", 4.0, 3)]);
        assert_eq!(diagnosis.chosen(), 0);
        diagnosis.key(Key::Enter);
        assert_eq!(diagnosis.story().map(|(class, _)| class.story[0].as_str()), Some("the story of b"));
        diagnosis.key(Key::Escape);
        assert!(diagnosis.story().is_none());
    }

    #[test]
    fn paused_view_keeps_its_snapshot() {
        let mut diagnosis = Diagnosis::default();
        snapshot(&mut diagnosis, 1.0, &[("a", 5.0, 9)]);
        diagnosis.key(Key::Char('p'));
        snapshot(&mut diagnosis, 2.0, &[("b", 5.0, 9)]);
        assert_eq!((names(&diagnosis), diagnosis.is_paused()), (vec!["a"], true));
        diagnosis.key(Key::Char('p'));
        assert_eq!(names(&diagnosis), ["b"]);
    }

    #[test]
    fn keys_without_a_lock_are_harmless() {
        let mut diagnosis = Diagnosis::default();
        for key in [Key::Enter, Key::Down, Key::Up, Key::End, Key::Char('p'), Key::Char('o')] {
            assert!(diagnosis.key(key));
        }
        assert!(diagnosis.story().is_none() && diagnosis.snapshot().is_none());
    }
}
