//! The comparable values: the time taken from a running thread.

use super::record::Row;
use record::{Cell, Metric, Unit, VariationSource};

pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = Cell::of([row.scenario.clone()]).with("cpu", format!("CPU {}", row.cpu));
    let longest = row.longest_ci_us.map(|ends| ends.scaled(1e3));
    let longest = Metric::time(&cell, "longest gap, repetition", row.longest_p50_us * 1e3, longest);
    let taken = Metric { unit: Unit::Share, ..Metric::time(&cell, "taken", row.lost().value, row.lost().interval) };
    [taken, longest].map(|measure| Metric { variation: VariationSource::Others, ..measure }).into()
}
