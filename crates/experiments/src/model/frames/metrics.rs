//! Spoiled frames, computed.

use super::{Better, Cell, Measure, Scatter};
use crate::experiments::model::FramesRow as Row;
use crate::terminal::{Quantity, nanoseconds, percent};

pub fn measure(row: &Row) -> Option<Measure> {
    let Row::MoreThan(more) = row else { return None };
    let cell = Cell::of([
        format!("quantum {}", nanoseconds(more.quantum_us * 1e3)),
        format!("more than {}", percent(more.more_than_share)),
    ]);
    Some(Measure {
        quantity: Quantity::Probability,
        better: Better::Neither,
        scatter: Scatter::Computed,
        ..Measure::time(&cell, "probability", more.probability, None)
    })
}
