//! The clock, and how fast work of one length runs.

use super::record::Row;
use record::{Better, Cell, Metric, Unit, VariationSource};
use terminal::nanoseconds;

/// Half of the shortest tick.
const UNDISTURBED_US: f64 = 500.0;

pub fn metrics(row: &Row) -> Vec<Metric> {
    match row {
        Row::Clock(clock) => vec![Metric::time(&Cell::of(["clock".to_owned()]), "a read", clock.read_cost_ns, None)],
        Row::Losses(losses) => vec![Metric {
            unit: Unit::Share,
            variation: VariationSource::Others,
            alone: None,
            is_alone: false,
            ..Metric::time(&Cell::of([format!("CPU {}", losses.cpu)]), "lost", losses.lost_share, None)
        }],
        Row::Slice(slice) => {
            let cell = Cell::of([format!("work of {}", nanoseconds(slice.slice_us * 1e3))]);
            // Between ticks the median run has the CPU to itself.
            let variation =
                if slice.slice_us < UNDISTURBED_US { VariationSource::Work } else { VariationSource::Elapsed };
            vec![Metric {
                variation,
                alone: None,
                is_alone: false,
                unit: Unit::Mhz,
                better: Better::More,
                ..Metric::time(&cell, "effective MHz", slice.median_mhz, slice.median_ci_mhz)
            }]
        }
        _ => Vec::new(),
    }
}
