//! The registry of locks.

use super::item::{Given, Item};
use crate::action::Action;

pub fn items(given: &Given<'_>) -> Vec<Item> {
    let item = |entry: &'static locks::Entry| {
        let who = if entry.between_processes { "" } else { " (threads only)" };
        let item = Item::new(entry.name, format!("{}{who}", entry.about), Action::TurnLock(entry.name));
        item.marked(given.choice.locks.contains(&entry.name))
    };
    locks::ENTRIES.iter().map(item).collect()
}
