//! Locks under load: loops a second, and the long waits.

use super::{Better, Cell, MOSTLY, Measure, Scatter, counted};
use crate::experiments::throughput::Row;
use crate::terminal::{Quantity, nanoseconds};

pub fn measures(row: &Row) -> Vec<Measure> {
    let cell = cell(row);
    let loops = Measure {
        quantity: Quantity::PerSecond,
        better: Better::More,
        scatter: scatter(row),
        ..Measure::time(&cell, "loops", row.throughput_per_s, row.throughput_ci)
    };
    let wait = row
        .wait_p99_ns
        .map(|wait| Measure { scatter: Scatter::Rare, ..Measure::time(&cell, "wait, 99 %", wait, None) });
    std::iter::once(loops).chain(wait).collect()
}

fn scatter(row: &Row) -> Scatter {
    let work_ns = (row.hold_us + row.nonhold_us) * 1e3;
    if row.children == 1 && work_ns * row.throughput_per_s / 1e9 >= MOSTLY {
        Scatter::WorkRate
    } else {
        Scatter::Elapsed
    }
}

fn cell(row: &Row) -> Cell {
    let workers = match (row.processes, row.children) {
        (true, 1) => "1 process".to_owned(),
        (true, several) => format!("{several} processes"),
        (false, threads) => counted(threads, "thread"),
    };
    let time = |us: f64| nanoseconds(us * 1e3);
    Cell::of([
        row.lock.clone(),
        workers,
        counted(row.locks, "lock"),
        if row.share > 0 { format!("{} % read", row.share) } else { String::new() },
    ])
    .with("hold_us", format!("hold {}", time(row.hold_us)))
    .with("nonhold_us", format!("non-hold {}", time(row.nonhold_us)))
}
