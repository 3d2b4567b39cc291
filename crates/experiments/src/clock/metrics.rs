//! The clock, and how fast work of one length runs.

use super::{Better, Cell, Measure, Scatter};
use crate::experiments::clock::Row;
use crate::terminal::{Quantity, nanoseconds};

/// Half of the shortest tick.
const UNDISTURBED_US: f64 = 500.0;

pub fn measure(row: &Row) -> Option<Measure> {
    match row {
        Row::Clock(clock) => Some(Measure::time(&Cell::of(["clock".to_owned()]), "a read", clock.read_cost_ns, None)),
        Row::Losses(losses) => Some(Measure {
            quantity: Quantity::Share,
            scatter: Scatter::Others,
            ..Measure::time(&Cell::of([format!("CPU {}", losses.cpu)]), "lost", losses.lost_share, None)
        }),
        Row::Slice(slice) => {
            let cell = Cell::of([format!("work of {}", nanoseconds(slice.slice_us * 1e3))]);
            // Between ticks the median run has the CPU to itself.
            let scatter = if slice.slice_us < UNDISTURBED_US { Scatter::Work } else { Scatter::Elapsed };
            Some(Measure {
                scatter,
                quantity: Quantity::Megahertz,
                better: Better::More,
                ..Measure::time(&cell, "effective MHz", slice.median_mhz, slice.median_ci_mhz)
            })
        }
        _ => None,
    }
}
