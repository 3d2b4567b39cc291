//! The lock with the highest modelled throughput on the most cores, and the values that are compared.

use super::record::Row;
use record::{Better, Cell, Finding, Metric, Origin, Unit, VariationSource};

/// Returns the locks with the highest modelled throughput on the largest machine.
pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    let largest = rows.iter().filter(|(_, row)| row.measured.is_none()).max_by_key(|(_, row)| (row.cores, row.threads));
    let Some((_, largest)) = largest else { return Vec::new() };
    let peers = rows.iter().filter(|(_, row)| row.is_comparable(largest));
    let Some((place, best)) = peers.max_by(|a, b| a.1.modelled_per_s.total_cmp(&b.1.modelled_per_s)) else {
        return Vec::new();
    };
    let words = format!(
        "Modelled, not measured: {} has the highest throughput with {} at {}: {}",
        best.lock,
        best.machine(),
        best.work(),
        Unit::PerS.words(best.modelled_per_s)
    );
    let source = Origin::of("model locks", *place, format!("{}, {}", best.lock, best.machine()), "modelled_per_s");
    vec![Finding::new("many_cores", words, Unit::PerS, best.modelled_per_s.into(), source)]
}

pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = Cell::of([row.lock.clone(), row.machine()]).with("hold_us", row.work());
    vec![Metric {
        unit: Unit::PerS,
        better: Better::More,
        variation: VariationSource::Computed,
        ..Metric::time(&cell, "modelled throughput", row.modelled_per_s, None)
    }]
}
