//! The figure that can be held against that of another record.

use super::record::Row;
use record::{Cell, Metric};

/// One for each CPU.
pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = Cell::of([format!("CPU {}", row.cpu)]);
    vec![Metric::time(&cell, "a system call", row.call_ns, row.call_ci_ns)]
}
