//! The CPUs of this machine.

use super::item::{Given, Item};
use crate::action::Action;

pub fn items(given: &Given<'_>) -> Vec<Item> {
    let item = |cpu: usize| {
        let item = Item::new(format!("CPU {cpu}"), "Measured", Action::TurnCpu(cpu));
        item.marked(given.choice.cpus.contains(cpu)).refused(given.machine.refusal(cpu))
    };
    given.machine.online.iter().map(item).collect()
}
