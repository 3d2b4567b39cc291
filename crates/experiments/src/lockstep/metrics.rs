//! Steps by number of ranks, and their prediction.

use ::lockstep::record::Row;
use record::{Cell, Metric, Unit, VariationSource};
use terminal::count;

pub fn metrics(row: &Row) -> Vec<Metric> {
    match row {
        Row::Steps(row) => {
            let cell = Cell::of([format!("{} ranks", count(row.ranks))]);
            let times = |figure, value, interval| Metric {
                unit: Unit::Times,
                variation: VariationSource::Others,
                ..Metric::time(&cell, figure, value, interval)
            };
            vec![
                times("slowdown", row.slowdown, row.slowdown_ci),
                times("slowdown, predicted", row.predicted_slowdown, row.predicted_ci),
            ]
        }
        Row::Nodes(row) => {
            let cell = Cell::of([format!("{} nodes", count(row.nodes))]);
            let time = Metric::time(&cell, "slowdown, predicted", row.slowdown, row.slowdown_ci);
            vec![Metric { unit: Unit::Times, variation: VariationSource::Rare, ..time }]
        }
        Row::LongStep(_) | Row::Rank(_) => Vec::new(),
    }
}
