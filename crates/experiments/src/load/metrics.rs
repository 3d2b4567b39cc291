//! What a soaker gets, and what it takes from others.

use super::record::Row;
use instruments::statistics::Interval;
use record::{Better, Cell, Metric, Unit, VariationSource};

pub fn metrics(row: &Row) -> Vec<Metric> {
    let share = |cell: &Cell, figure, value: f64, interval: Option<Interval>, better| Metric {
        unit: Unit::Share,
        better,
        variation: VariationSource::Others,
        alone: None,
        is_alone: false,
        ..Metric::time(cell, figure, value, interval)
    };
    if let Some(total) = row.total() {
        let cell = Cell::of([format!("CPU {}", total.cpu)]).with("priority", format!("at {}", total.priority));
        let got = share(&cell, "got", total.shares.cputime_share, None, Better::More);
        let taken = total.taken_share.map(|taken| share(&cell, "taken", taken, total.taken_ci, Better::Neither));
        let efficiency = total.efficiency_share.map(|efficiency| Metric {
            variation: VariationSource::Elapsed,
            alone: None,
            is_alone: false,
            ..share(&cell, "efficiency", efficiency, total.efficiency_ci, Better::More)
        });
        return [Some(got), taken, efficiency].into_iter().flatten().collect();
    }
    let cell = Cell::of(["all CPUs".to_owned()]);
    let taken =
        row.all_cpus().and_then(|all| Some(share(&cell, "taken", all.taken_share?, all.taken_ci, Better::Neither)));
    taken.into_iter().collect()
}
