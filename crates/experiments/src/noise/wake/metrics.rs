//! Wake-up latency: what can be compared with other records.

use super::record::WakeRow;
use record::{Cell, Metric, VariationSource};

pub fn metrics(row: &WakeRow) -> Vec<Metric> {
    let every = format!("every {}", terminal::nanoseconds(row.interval_us * 1e3));
    let cell = Cell::of(["wake-ups".to_owned(), every, row.policy.clone()]).with("cpu", format!("CPU {}", row.cpu));
    let median =
        Metric::time(&cell, "late p50", row.late_p50_us * 1e3, row.late_p50_ci_us.map(|ends| ends.scaled(1e3)));
    let tail = Metric::time(&cell, "late p99", row.late_p99_us * 1e3, None);
    [median, tail].map(|metric| Metric { variation: VariationSource::Others, ..metric }).into()
}
