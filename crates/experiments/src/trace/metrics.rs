//! The values that are compared with other records, of locks that have a name.

use super::record::{Row, RowKind};
use record::{Better, Cell, Metric, Unit, VariationSource};

pub fn metrics(row: &Row) -> Vec<Metric> {
    if row.kind != RowKind::Lock || !row.excludes() {
        return Vec::new();
    }
    let cell = Cell::of([row.lock.clone()]);
    let time = |figure, value: Option<f64>, variation| {
        value.map(|value| Metric { variation, ..Metric::time(&cell, figure, value, None) })
    };
    let share = row.wait_share.map(|share| Metric {
        unit: Unit::Share,
        better: Better::Less,
        variation: VariationSource::Elapsed,
        ..Metric::time(&cell, "wait, share of thread time", share, None)
    });
    [
        time("wait p50", row.wait_p50_ns, VariationSource::Elapsed),
        time("wait p99", row.wait_p99_ns, VariationSource::Rare),
        time("hold p50", row.hold_p50_ns, VariationSource::Elapsed),
        share,
    ]
    .into_iter()
    .flatten()
    .collect()
}
