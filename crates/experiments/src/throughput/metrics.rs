//! Locks under load: loops a second, and the long waits.

use super::record::Row;
use instruments::statistics::comparison::Estimate;
use record::{Better, Cell, MOSTLY, Metric, Unit, VariationSource};
use terminal::{counted, nanoseconds};

pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = cell(row);
    let loops = Metric {
        unit: Unit::PerS,
        better: Better::More,
        variation: variation(row),
        alone: row.throughput_per_s_alone.map(|loops| Estimate::new(loops, row.throughput_per_s_alone_ci)),
        is_alone: false,
        ..Metric::time(&cell, "loops", row.throughput_per_s, row.throughput_ci)
    };
    let wait = row
        .wait_p99_ns
        .map(|wait| Metric { variation: VariationSource::Rare, ..Metric::time(&cell, "wait, p99", wait, None) });
    std::iter::once(loops).chain(wait).collect()
}

fn variation(row: &Row) -> VariationSource {
    let work_ns = (row.hold_us + row.nonhold_us) * 1e3;
    if row.children == 1 && work_ns * row.throughput_per_s / 1e9 >= MOSTLY {
        VariationSource::WorkRate
    } else {
        VariationSource::Elapsed
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
        if row.share > 0 { format!("{} % reads", row.share) } else { String::new() },
    ])
    .with("hold_us", format!("hold {}", time(row.hold_us)))
    .with("nonhold_us", format!("non-hold {}", time(row.nonhold_us)))
}
