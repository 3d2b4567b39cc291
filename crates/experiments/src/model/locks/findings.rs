//! The values of a record that are compared with those of another one.

use super::record::Row;
use record::{Better, Cell, Metric, Unit, VariationSource};

pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = Cell::of([row.lock.clone(), row.machine()]).with("hold_us", row.work());
    vec![Metric {
        unit: Unit::PerS,
        better: Better::More,
        variation: VariationSource::Computed,
        ..Metric::time(&cell, "modelled throughput", row.modelled_per_s, None)
    }]
}
