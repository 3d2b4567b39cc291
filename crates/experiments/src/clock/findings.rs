//! What the clock costs.

use super::record::Row;
use record::{Finding, Origin, Unit};

pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    rows.iter().filter_map(|(place, row)| read(*place, row)).collect()
}

fn read(place: usize, row: &Row) -> Option<Finding> {
    let Row::Clock(clock) = row else { return None };
    let (cost, step) = (Unit::Ns.words(clock.read_cost_ns), Unit::Ns.words(clock.resolution_ns));
    let words = format!("Reading the clock takes {cost}; it advances in steps of {step}");
    let source = Origin::of("clock", place, format!("CPU {}", clock.cpu), "read_cost_ns");
    Some(Finding::new("clock_read", words, Unit::Ns, clock.read_cost_ns.into(), source))
}
