//! Locks: an uncontended pair, the wait, the round.

use super::flags::Placement;
use super::record::{Operation, Row};
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use record::{Cell, MOSTLY, Metric, VariationSource};
use terminal::{counted, nanoseconds};

/// A quantile and its interval.
type Quantile = (Option<f64>, Option<Interval>);

pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = cell(row);
    let neighbour = &row.neighbour;
    let seen = |figure, [of_all, alone]: [Quantile; 2], variation| {
        let known = row.estimate(of_all.0, of_all.1)?;
        let metric = Metric::time(&cell, figure, known.value, known.interval);
        Some(Metric { resolution: known.resolution, variation, alone: row.estimate(alone.0, alone.1), ..metric })
    };
    let median = [(row.p50_ns, row.p50_ci_ns), (neighbour.p50_ns_alone, neighbour.p50_ci_ns_alone)];
    match row.operation {
        Operation::Lock => {
            let pair = row.bare_pair_ns.filter(|_| row.thread == 0);
            let alone = neighbour.bare_pair_ns_alone.map(|ns| Estimate::new(ns, neighbour.bare_pair_ci_ns_alone));
            let of_pair = |ns| Metric { alone, ..Metric::time(&cell, "lock and unlock", ns, row.bare_pair_ci_ns) };
            let pair = pair.map(of_pair);
            let median = seen("lock, median", median, variation(row));
            let tail = [(row.p999_ns, row.p999_ci_ns), (neighbour.p999_ns_alone, neighbour.p999_ci_ns_alone)];
            let rare = seen("lock, 99.9 %", tail, VariationSource::Rare);
            pair.into_iter().chain(median).chain(rare).collect()
        }
        Operation::RoundTrip => seen("round trip, median", median, variation(row)).into_iter().collect(),
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
