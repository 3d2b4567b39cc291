//! How many threads want a lock.

use super::item::{Given, Item};
use crate::action::Action;
use crate::choice::THREADS;

pub fn items(given: &Given<'_>) -> Vec<Item> {
    let cpus = given.choice.cpus.len();
    let item = |number: u16| {
        let about = match usize::from(number) {
            1 => "The lock is uncontended".to_owned(),
            few if few <= cpus => "Every thread has its own CPU".to_owned(),
            _ => format!("More threads than the {} measured: some wait for a CPU", terminal::counted(cpus, "CPU")),
        };
        Item::new(number.to_string(), about, Action::TurnThreads(number)).marked(given.choice.threads.contains(&number))
    };
    THREADS.into_iter().map(item).collect()
}
