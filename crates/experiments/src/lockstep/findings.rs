//! The comparison of the job with the prediction from its ranks' noise, and the values that are compared with other
//! records.

use ::lockstep::record::Row;
use record::{Cell, Finding, Metric, Origin, Unit, VariationSource};
use terminal::count;

/// Returns the finding about the row with the most ranks.
pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    let steps = rows.iter().filter_map(|(place, row)| match row {
        Row::Steps(row) => Some((*place, row)),
        _ => None,
    });
    let Some((place, row)) = steps.max_by_key(|(_, row)| row.ranks) else { return Vec::new() };
    let (measured, predicted) = (Unit::Times.words(row.slowdown), Unit::Times.words(row.predicted_slowdown));
    let words = format!(
        "The bulk-synchronous job on {} ranks took {measured} as long as without noise; the prediction from their noise is {predicted}",
        terminal::count(row.ranks)
    );
    let source = Origin::of("lockstep", place, format!("{} ranks", row.ranks), "slowdown");
    vec![Finding::new("lock_step_measured", words, Unit::Times, row.slowdown.into(), source)]
}

pub fn metrics(row: &Row) -> Vec<Metric> {
    match row {
        Row::Steps(row) => {
            let cell = Cell::of([format!("{} ranks", count(row.ranks))]);
            let times = |figure, value, interval| Metric {
                unit: Unit::Times,
                variation: VariationSource::Others,
                ..Metric::time(&cell, figure, value, interval)
            };
            vec![
                times("slowdown", row.slowdown, row.slowdown_ci),
                times("slowdown, predicted", row.predicted_slowdown, row.predicted_ci),
            ]
        }
        Row::Nodes(row) => {
            let cell = Cell::of([format!("{} nodes", count(row.nodes))]);
            let time = Metric::time(&cell, "slowdown, predicted", row.slowdown, row.slowdown_ci);
            vec![Metric { unit: Unit::Times, variation: VariationSource::Rare, ..time }]
        }
        Row::LongStep(_) | Row::Rank(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::record;
    use super::*;

    #[test]
    fn finding_is_about_the_most_ranks() {
        let record = record();
        let rows: Vec<(usize, &Row)> = record.results.iter().enumerate().collect();
        assert_eq!(
            findings(&rows)[0].to_string(),
            "The bulk-synchronous job on 2 ranks took 1.04× as long as without noise; the prediction from their \
             noise is 1.05× \
             [lockstep: 2 ranks]"
        );
    }
}
