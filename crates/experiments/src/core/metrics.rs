//! The figures that can be held against those of another record.

use super::record::Row;
use instruments::statistics::Interval;
use record::{Better, Cell, Metric, Unit, VariationSource};

/// What each kind of code loses, and how often the core was shared.
pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = Cell::of([format!("CPU {}", row.cpu)]);
    let shared = row.shared_share.map(|share| Metric {
        unit: Unit::Share,
        variation: VariationSource::Others,
        ..Metric::time(&cell, "core shared", share, row.shared_share_ci)
    });
    let cost = |kind: &str, figure, ratio: Option<f64>, interval: Option<Interval>| {
        let cell = Cell::of([format!("CPU {}", row.cpu), kind.to_owned()]);
        let time = Metric::time(&cell, figure, ratio?, interval);
        Some(Metric { unit: Unit::Times, better: Better::Neither, variation: VariationSource::Operation, ..time })
    };
    let costs = row.costs.iter().filter_map(|of| cost(&of.kind, "shared over exclusive", of.ratio, of.ratio_ci));
    shared.into_iter().chain(costs).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    /// How often others come differs from hour to hour, what they cost hardly.
    #[test]
    fn what_sharing_costs_can_be_compared_with_that_of_another_hour() {
        let found = metrics(&row(0, Some(0.34)));
        let of = |figure: &str| found.iter().find(|metric| metric.figure == figure).unwrap();
        assert_eq!(of("core shared").variation, VariationSource::Others);
        assert_eq!(of("core shared").interval, Some(Interval::new(0.28, 0.40)));
        assert_eq!(of("shared over exclusive").variation, VariationSource::Operation);
    }
}
