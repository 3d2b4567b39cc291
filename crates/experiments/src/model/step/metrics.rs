//! Nodes in lock-step, computed from a trace.

use super::record::{Method, Row};
use record::{Cell, Metric, Unit, VariationSource};
use terminal::{count, nanoseconds};

pub fn metrics(row: &Row) -> Vec<Metric> {
    let method = match row.method {
        Method::Exact => "exact",
        Method::Barrier => "simulated barrier",
        Method::Ranks => "ranks",
    };
    let cell = Cell::of([method.to_owned(), format!("{} nodes", count(row.nodes))])
        .with("step_us", format!("step {}", nanoseconds(row.step_us * 1e3)));
    vec![Metric {
        unit: Unit::Times,
        variation: VariationSource::Computed,
        alone: None,
        is_alone: false,
        ..Metric::time(&cell, "slowdown", row.slowdown, row.slowdown_ci)
    }]
}
