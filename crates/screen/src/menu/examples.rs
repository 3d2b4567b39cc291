//! The calls that an experiment suggests, as its help has them.

use super::item::Item;
use crate::action::Action;
use crate::command_line;

pub fn items(name: &str) -> Vec<Item> {
    let Some(entry) = experiments::named(name) else { return Vec::new() };
    let call = |(line, what): &(&str, &str)| {
        let words = command_line::words(line).unwrap_or_default();
        Item::new(*line, *what, Action::Edit(words))
    };
    entry.examples.iter().map(call).collect()
}
