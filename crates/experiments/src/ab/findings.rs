//! The values that are compared with those of other records.

use super::record::AbRow;
use record::{Better, Cell, Metric, Unit, VariationSource};

/// Returns the median of a side, and its ratio to the side that it is compared with. The ratio is the better one to
/// follow over commits: effects of the machine on both sides are not in it.
pub fn metrics(row: &AbRow) -> Vec<Metric> {
    // Memory without a ratio may be contend's own.
    let is_seen = row.metric != "memory_kib" || row.ratio.is_some();
    if !row.is_judged() || row.median <= 0.0 || !is_seen {
        return Vec::new();
    }
    let cell = Cell::of([row.side.clone()]);
    let (unit, factor) = row.unit();
    let figure = match row.metric.as_str() {
        "wall_s" => ["wall time", "wall time, ratio"],
        "cpu_s" => ["CPU time", "CPU time, ratio"],
        "memory_kib" => ["peak memory", "peak memory, ratio"],
        _ => ["value in the output", "value in the output, ratio"],
    };
    let is_own = !["wall_s", "cpu_s", "memory_kib"].contains(&row.metric.as_str());
    let cell = if is_own { Cell::of([row.side.clone(), row.metric.clone()]) } else { cell };
    let better = if row.higher_is_better { Better::More } else { Better::Less };
    let of = |figure, value, interval, unit| Metric {
        unit,
        better,
        // The conditions of a run are the same for both sides of a ratio.
        variation: if unit == Unit::Times { VariationSource::Work } else { VariationSource::Elapsed },
        ..Metric::time(&cell, figure, value, interval)
    };
    let median = of(figure[0], row.median * factor, row.ci.map(|ends| ends.scaled(factor)), unit);
    let ratio = row.ratio.map(|ratio| of(figure[1], ratio, row.ratio_ci, Unit::Times));
    std::iter::once(median).chain(ratio).collect()
}
