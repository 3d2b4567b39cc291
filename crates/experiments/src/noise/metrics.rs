//! What is taken from a running thread.

use super::{Cell, Measure, Scatter};
use crate::experiments::noise::Row;
use crate::terminal::Quantity;

pub fn measures(row: &Row) -> Vec<Measure> {
    let cell = Cell::of([row.scenario.clone()]).with("cpu", format!("CPU {}", row.cpu));
    let longest = row.longest_ci_us.map(|ends| ends.scaled(1e3));
    let longest = Measure::time(&cell, "longest gap of a turn", row.longest_p50_us * 1e3, longest);
    let taken =
        Measure { quantity: Quantity::Share, ..Measure::time(&cell, "taken", row.lost_share, row.lost_ci_share) };
    [taken, longest].map(|measure| Measure { scatter: Scatter::Others, ..measure }).into()
}
