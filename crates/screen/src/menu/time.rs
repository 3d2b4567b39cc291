//! How long is measured.

use super::item::{Given, Item};
use crate::action::Action;
use crate::choice::TIMES;

pub fn items(given: &Given<'_>) -> Vec<Item> {
    let item = |time: crate::choice::Time| {
        Item::new(time.words(), "Time budget of the whole run", Action::SetTime(time)).marked(given.choice.time == time)
    };
    TIMES.into_iter().map(item).collect()
}
