//! The values that are compared with those of other records.

use super::record::{AbRecord, AbRow, Verdict};
use harness::report_to;
use record::{Better, Cell, Metric, Unit, VariationSource};

/// The fewest runs that are suggested: a verdict needs half of them.
const FEWEST_RUNS: u64 = 12;

/// Returns the command that follows: at least twice as many runs where no difference was shown, otherwise the report.
pub fn next(record: &AbRecord<'_>) -> Option<Vec<String>> {
    let mut decisive = record.results.iter().filter(|row| row.is_decisive);
    let is_open = decisive.any(|row| matches!(row.verdict, Some(Verdict::NoDifferenceShown | Verdict::NotJudged)));
    let (parameters, sides) = (record.parameters, &record.parameters.sides);
    // Other runs need the flags of this one, which the record does not have as words.
    let more = [&parameters.prepare, &parameters.cleanup, &parameters.client, &parameters.input];
    let is_plain = more.iter().all(|flag| flag.is_none())
        && record.results.iter().all(|row| !row.is_decisive || row.metric == "wall_s")
        && sides.iter().all(|side| side.revision.is_none() && side.parameters.is_empty() && !side.is_control);
    if !is_open || !is_plain {
        return Some(report_to("ab.html"));
    }
    let enough = |row: &AbRow| row.runs.saturating_add(row.missing_runs.unwrap_or(0).max(row.runs));
    let runs = record.results.iter().filter(|row| row.is_decisive).map(enough).max()?.max(FEWEST_RUNS);
    let words = ["ab".to_owned(), "--runs".to_owned(), runs.to_string()];
    Some(words.into_iter().chain(sides.iter().map(|side| side.command.clone())).collect())
}

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
