//! Locks: an uncontended pair, the wait, the round.

use super::flags::Placement;
use super::record::{Operation, Row};
use instruments::statistics::Interval;
use record::{Cell, MOSTLY, Metric, VariationSource};
use terminal::{counted, nanoseconds};

pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = cell(row);
    let seen = |figure, value: Option<f64>, interval: Option<Interval>, variation| {
        let known = row.estimate(value, interval)?;
        let metric = Metric::time(&cell, figure, known.value, known.interval);
        Some(Metric { resolution: known.resolution, variation, ..metric })
    };
    match row.operation {
        Operation::Lock => {
            let pair = row.bare_pair_ns.filter(|_| row.thread == 0);
            let pair = pair.map(|pair| Metric::time(&cell, "lock and unlock", pair, row.bare_pair_ci_ns));
            let median = seen("lock, median", row.p50_ns, row.p50_ci_ns, variation(row));
            let rare = seen("lock, 99.9 %", row.p999_ns, row.p999_ci_ns, VariationSource::Rare);
            pair.into_iter().chain(median).chain(rare).collect()
        }
        Operation::RoundTrip => {
            seen("round trip, median", row.p50_ns, row.p50_ci_ns, variation(row)).into_iter().collect()
        }
        // The pair has it, and it never waits.
        Operation::Unlock => Vec::new(),
    }
}

/// A thread that waits for one on another CPU waits for whoever else runs there.
fn variation(row: &Row) -> VariationSource {
    match row.operation {
        _ if row.threads > 1 && row.placement != Placement::OneCpu.to_string() => VariationSource::Elapsed,
        Operation::RoundTrip if row.hold_us * 1e3 >= MOSTLY * row.p50_ns.unwrap_or(f64::INFINITY) => {
            VariationSource::CorrectedWork
        }
        _ => VariationSource::SingleOperation,
    }
}

fn cell(row: &Row) -> Cell {
    let several = row.threads + row.competitors > 1;
    Cell::of([
        row.lock.clone(),
        counted(row.threads, "thread"),
        if row.competitors > 0 { counted(row.competitors, "competitor") } else { String::new() },
        if several { row.placement.clone() } else { String::new() },
        if row.threads > 1 { format!("thread {}", row.thread) } else { String::new() },
    ])
    .with("hold_us", format!("hold {}", nanoseconds(row.hold_us * 1e3)))
}
