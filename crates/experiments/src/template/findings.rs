//! Statements about the rows, and the values that are compared with other records.

use super::NAME;
use super::record::Row;
use instruments::statistics::comparison::Estimate;
use record::{Cell, Finding, Metric, Origin, Unit};

/// Returns the finding about the first CPU.
pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    let found = |(place, row): &(usize, &Row)| {
        let figure = Estimate::new(row.call_ns, row.call_ci_ns);
        let words = format!("A system call costs {}", Unit::Ns.estimate(figure));
        let source = Origin::of(NAME, *place, format!("CPU {}", row.cpu), "call_ns");
        Finding::new("system_call", words, Unit::Ns, figure, source)
    };
    rows.iter().take(1).map(found).collect()
}

/// Returns a value for each CPU.
pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = Cell::of([format!("CPU {}", row.cpu)]);
    vec![Metric::time(&cell, "a system call", row.call_ns, row.call_ci_ns)]
}
