//! The rows of cycles of locks.

use super::class::{Class, class_of};
use super::orders::{Cycle, Order, Reason};
use crate::trace::record::{CycleVerdict, JOIN_ORDER, Row, RowKind, Step};
use blame::names::Names;
use blame::places::{lock_at, lock_name, process_at, process_of, type_name};
use interpose::Region;
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

/// Cycles that are one row: the same orders of locks of the same classes at the same call sites.
pub struct Group {
    /// The first of them, as it is shown.
    pub cycle: Cycle,
    pub instances: u32,
}

/// A step of a cycle, but for the instance of the lock.
type Key = (Class, u64, u64);

/// Puts cycles together whose locks are instances of the same classes.
pub fn grouped(region: &Region, names: &mut Names, cycles: Vec<Cycle>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<(bool, Vec<Key>), usize> = HashMap::new();
    for cycle in cycles {
        let key = |order: &Order| (class_of(region, names, order.held), order.held_site, order.taken_site);
        let mut keys: Vec<Key> = cycle.orders.iter().map(key).collect();
        let first = (0..keys.len()).min_by_key(|place| [&keys[*place..], &keys[..*place]].concat()).unwrap_or(0);
        keys.rotate_left(first);
        match known.get(&(cycle.is_possible(), keys.clone())) {
            Some(place) => groups[*place].instances += 1,
            None => {
                known.insert((cycle.is_possible(), keys), groups.len());
                groups.push(Group { cycle, instances: 1 });
            }
        }
    }
    groups
}

/// Returns the row of a cycle.
pub fn row(region: &Region, names: &mut Names, group: &Group) -> Row {
    let orders = &group.cycle.orders;
    let steps: Vec<Step> = orders.iter().map(|order| step(region, names, order)).collect();
    let first = lock_at(region, orders[0].held);
    let reasons: Vec<String> = group.cycle.reasons.iter().map(|reason| words(region, names, *reason)).collect();
    let verdict = if group.cycle.is_possible() { CycleVerdict::Possible } else { CycleVerdict::Excluded };
    Row {
        address: format!("{:#x}", first.address.load(Relaxed)),
        lock_type: type_name(first.kind.load(Relaxed)).to_owned(),
        instances: group.instances,
        locks: steps.iter().map(|step| step.holds.clone()).collect(),
        verdict: Some(verdict),
        reason: Some(reasons.join("; ")).filter(|reason| !reason.is_empty()),
        steps,
        ..Row::new(RowKind::Order, process_of(region, orders[0].held), lock_name(region, names, orders[0].held))
    }
}

fn step(region: &Region, names: &mut Names, order: &Order) -> Step {
    let mut label = |lock: u32, site: u64| names.site(process_at(region, lock, site), site).label;
    let (held_site, taken_site) = (label(order.held, order.held_site), label(order.taken, order.taken_site));
    Step {
        thread: order.thread,
        holds: lock_name(region, names, order.held),
        held_site,
        takes: lock_name(region, names, order.taken),
        taken_site,
    }
}

/// Returns the reason why a cycle is excluded.
fn words(region: &Region, names: &mut Names, reason: Reason) -> String {
    match reason {
        Reason::OneThread => "one thread acquires them in both orders, and no other thread does".to_owned(),
        Reason::Gate(lock) => {
            format!("{} is held in both orders, so one thread at a time is in them", lock_name(region, names, lock))
        }
        Reason::JoinOrder => JOIN_ORDER.to_owned(),
        Reason::Readers(lock) => format!("both acquire {} as readers", lock_name(region, names, lock)),
        Reason::Timed(lock) => format!("the wait for {} has a time limit", lock_name(region, names, lock)),
    }
}
