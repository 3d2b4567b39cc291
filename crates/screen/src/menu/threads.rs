//! How many threads want a lock.

use super::item::{Given, Item};
use crate::action::Action;
use crate::choice::THREADS;

pub fn items(given: &Given<'_>) -> Vec<Item> {
    let cpus = given.choice.cpus.len();
    let item = |number: u16| {
        let about = match usize::from(number) {
            1 => "Nobody else wants the lock".to_owned(),
            few if few <= cpus => "There is a CPU for each".to_owned(),
            _ => format!("More than the {} measured: some must wait for a CPU", terminal::counted(cpus, "CPU")),
        };
        Item::new(number.to_string(), about, Action::TurnThreads(number)).marked(given.choice.threads.contains(&number))
    };
    THREADS.into_iter().map(item).collect()
}
