//! The clock, and how fast work of one length runs.

use super::record::Row;
use instruments::statistics::comparison::Estimate;
use record::{Better, Cell, Metric, Unit, VariationSource};
use terminal::nanoseconds;

/// Half of the shortest tick.
const UNDISTURBED_US: f64 = 500.0;

pub fn metrics(row: &Row) -> Vec<Metric> {
    match row {
        Row::Clock(clock) => {
            let alone = clock.read_cost_ns_alone.map(|ns| Estimate::new(ns, clock.read_cost_ns_alone_ci));
            let read = Metric::time(&Cell::of(["clock".to_owned()]), "a read", clock.read_cost_ns, None);
            vec![Metric { alone, ..read }]
        }
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
                alone: slice.median_mhz_alone.map(|mhz| Estimate::new(mhz, slice.median_mhz_alone_ci)),
                is_alone: false,
                unit: Unit::Mhz,
                better: Better::More,
                ..Metric::time(&cell, "effective MHz", slice.median_mhz, slice.median_ci_mhz)
            }]
        }
        _ => Vec::new(),
    }
}
