//! What is taken from a running thread.

use super::record::Row;
use super::wake::record::WakeRow;
use record::{Cell, Metric, Unit, VariationSource};

pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = Cell::of([row.scenario.clone()]).with("cpu", format!("CPU {}", row.cpu));
    let longest = row.longest_ci_us.map(|ends| ends.scaled(1e3));
    let longest = Metric::time(&cell, "longest gap, repetition", row.longest_p50_us * 1e3, longest);
    let taken = Metric { unit: Unit::Share, ..Metric::time(&cell, "taken", row.lost().value, row.lost().interval) };
    [taken, longest].map(|measure| Metric { variation: VariationSource::Others, ..measure }).into()
}

/// How late a thread wakes.
pub fn of_wake_ups(row: &WakeRow) -> Vec<Metric> {
    let every = format!("every {}", terminal::nanoseconds(row.interval_us * 1e3));
    let cell = Cell::of(["wake-ups".to_owned(), every, row.policy.clone()]).with("cpu", format!("CPU {}", row.cpu));
    let median =
        Metric::time(&cell, "late p50", row.late_p50_us * 1e3, row.late_p50_ci_us.map(|ends| ends.scaled(1e3)));
    let tail = Metric::time(&cell, "late p99", row.late_p99_us * 1e3, None);
    [median, tail].map(|metric| Metric { variation: VariationSource::Others, ..metric }).into()
}
