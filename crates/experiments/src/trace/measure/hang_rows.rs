//! The rows of hangs.

use super::hangs::{Hang, Stuck};
use super::places::{empty, lock_name, site_label};
use crate::trace::names::Names;
use crate::trace::record::{Row, RowKind, Step};
use interpose::Region;

/// A row for each.
pub fn of_hangs(region: &Region, names: &mut Names, hangs: &[Hang]) -> Vec<Row> {
    let row = |hang: &Hang| match hang {
        Hang::Circle(circle) => {
            let held_by = |place: usize| &circle[(place + 1) % circle.len()];
            let steps = circle.iter().enumerate().map(|(place, one)| step(region, names, one, Some(held_by(place))));
            let steps = steps.collect();
            Row { steps, ..waiting_row(region, names, RowKind::Deadlock, &circle[0]) }
        }
        Hang::Alone(one, holder) => {
            let steps = vec![step(region, names, one, holder.as_ref())];
            Row { steps, ..waiting_row(region, names, RowKind::Hang, one) }
        }
    };
    hangs.iter().map(row).collect()
}

fn waiting_row(region: &Region, names: &mut Names, kind: RowKind, one: &Stuck) -> Row {
    Row { wait_total_s: one.waited / 1e9, wait_max_ns: Some(one.waited), ..empty(region, names, kind, one.lock) }
}

/// What `one` waits for, and who has it: the thread of the step is the one that waits.
fn step(region: &Region, names: &mut Names, one: &Stuck, holder: Option<&Stuck>) -> Step {
    let taken =
        holder.and_then(|holder| holder.holds.iter().find(|(_, lock)| *lock == one.lock).map(|held| (holder, held)));
    Step {
        thread: one.thread,
        takes: lock_name(region, names, one.lock),
        taken_site: site_label(region, names, one.pair),
        holds: taken.map_or_else(|| "unknown".into(), |(holder, _)| format!("thread {}", holder.thread)),
        held_site: taken.map_or_else(String::new, |(_, (pair, _))| site_label(region, names, *pair)),
    }
}
