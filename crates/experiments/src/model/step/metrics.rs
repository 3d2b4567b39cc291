//! Nodes in lock-step, computed from a trace.

use super::{Cell, Measure, Scatter};
use crate::experiments::model::{Method, StepRow as Row};
use crate::terminal::{Quantity, count, nanoseconds};

pub fn measure(row: &Row) -> Measure {
    let method = match row.method {
        Method::Exact => "exact",
        Method::Barrier => "simulated barrier",
    };
    let cell = Cell::of([method.to_owned(), format!("{} nodes", count(row.nodes))])
        .with("step_us", format!("step {}", nanoseconds(row.step_us * 1e3)));
    Measure {
        quantity: Quantity::Times,
        scatter: Scatter::Computed,
        ..Measure::time(&cell, "slowdown", row.slowdown, row.slowdown_ci)
    }
}
