//! Spoiled frames, computed.

use super::record::Row;
use record::{Better, Cell, Metric, Unit, VariationSource};
use terminal::{nanoseconds, percent};

pub fn metrics(row: &Row) -> Vec<Metric> {
    let Row::MoreThan(more) = row else { return Vec::new() };
    let cell = Cell::of([
        format!("quantum {}", nanoseconds(more.quantum_us * 1e3)),
        format!("more than {}", percent(more.more_than_share)),
    ]);
    vec![Metric {
        unit: Unit::Probability,
        better: Better::Neither,
        variation: VariationSource::Computed,
        alone: None,
        is_alone: false,
        ..Metric::time(&cell, "probability", more.probability, None)
    }]
}
