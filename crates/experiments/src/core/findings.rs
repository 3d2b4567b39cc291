//! Statements about the rows, their lines of the ladder, and the values that are compared with other records.

use super::record::Row;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use record::{Aspect, Better, Cell, Cost, Finding, Metric, Origin, Unit, VariationSource};

/// Returns the CPU whose core was shared most.
pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    let confirmed = rows.iter().filter(|(_, row)| row.is_confirmed());
    let shared = confirmed.filter_map(|(place, row)| Some((*place, *row, row.shared_share?)));
    let Some((place, row, share)) = shared.max_by(|a, b| a.2.total_cmp(&b.2)) else { return Vec::new() };
    let source = Origin::of("core", place, format!("CPU {}", row.cpu), "shared_share");
    vec![Finding::new(
        "core_shared",
        sharing_words(row),
        Unit::Share,
        Estimate::new(share, row.shared_share_ci),
        source,
    )]
}

/// Returns the command that follows where a core was shared: the hours of the day in which it was.
pub fn next(rows: &[Row]) -> Option<Vec<String>> {
    let is_shared = rows.iter().any(|row| row.is_confirmed() && row.shared_share.is_some_and(|share| share > 0.0));
    is_shared.then(|| ["history", "hours"].map(str::to_owned).into())
}

/// Writes how often the core was shared, and the cost of sharing; without a full stop.
pub fn sharing_words(row: &Row) -> String {
    let Some(share) = row.shared_share.filter(|_| row.is_confirmed()) else {
        return format!("SMT interference on CPU {} could not be determined", row.cpu);
    };
    if share == 0.0 {
        return format!("No SMT interference was detected on CPU {}", row.cpu);
    }
    let bound = bound(row);
    let share = match row.shared_share_ci {
        Some(_) => Unit::Share.estimate(Estimate::new(share, row.shared_share_ci)),
        None => with_interval(Unit::Share, share.into()),
    };
    format!("An SMT sibling used the core of CPU {} for {share}{bound} of the time{}", row.cpu, sharing_costs(row))
}

/// Returns the bound of the shares, which refer to the best probe.
///
/// If the core was shared even then, more of the time was shared, and windows that count as exclusive were not.
fn bound(row: &Row) -> &'static str {
    if row.doubt.is_some() { " or more" } else { "" }
}

fn sharing_costs(row: &Row) -> String {
    let bound = bound(row);
    let of = |kind: &str| {
        let cost = row.costs.iter().find(|cost| cost.kind == kind)?;
        Some(with_interval(Unit::Times, Estimate::new(cost.ratio?, cost.ratio_ci)))
    };
    let words = |(width, latency): (String, String)| {
        format!("; in that time throughput-bound code took {width}{bound} as long, latency-bound code {latency}")
    };
    of("width").zip(of("latency")).map_or_else(String::new, words)
}

/// Writes the value with its interval, which older records and a run of few stretches lack.
fn with_interval(unit: Unit, figure: Estimate) -> String {
    let lacks = if figure.interval.is_none() { " (no confidence interval)" } else { "" };
    unit.words_with(figure.value, figure.interval) + lacks
}

/// Returns the lines of the ladder: memory, and a cache line from another CPU.
pub fn costs(rows: &[Row]) -> Vec<Cost> {
    let Some(row) = rows.first() else { return Vec::new() };
    let memory = row.memory.map(|memory| {
        let figure = format!("CPU {}: median of {} loads beyond its caches", row.cpu, memory.count);
        Cost::new("a load from memory", figure, Estimate::from(memory.latency_p50_ns))
    });
    let lines = row.pairs.iter().map(|pair| {
        let figure = format!("CPU {} and CPU {}: a cache line from one to the other", row.cpu, pair.cpu);
        let place = match pair.shares {
            Some(true) => "same core",
            Some(false) => "another core",
            None => "core unknown",
        };
        Cost::new(format!("a cache line of CPU {}", pair.cpu), figure, Estimate::from(pair.line_ns))
            .under(format!("from CPU {}, {place}", row.cpu))
    });
    memory.into_iter().chain(lines).map(|cost| cost.compared_as(Aspect::Memory, VariationSource::Limit)).collect()
}

/// Returns the loss of each kind of code, and the share of the time with the core shared.
pub fn metrics(row: &Row) -> Vec<Metric> {
    if !row.is_confirmed() {
        return Vec::new();
    }
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
    use super::super::record::sample::row;
    use super::*;

    #[test]
    fn finding_is_about_the_most_shared_core() {
        let (quiet, busy) = (row(0, Some(0.01)), row(1, Some(0.34)));
        let found = findings(&[(0, &quiet), (1, &busy)]);
        assert_eq!(
            found[0].words,
            "An SMT sibling used the core of CPU 1 for 34.0 % (95 % CI 28.0–40.0 %) of the time; in that time \
             throughput-bound code took 1.75× (1.73–1.77×) as long, latency-bound code 1.00× (0.99–1.01×)"
        );
        assert_eq!(found[0].value_ci, Some(Interval::new(0.28, 0.40)));
        assert_eq!((found.len(), found[0].source.row), (1, 1));
        assert!(sharing_words(&row(3, None)).ends_with("could not be determined"));
        // Nothing is stated that more than a tenth of the check denies, in old records either.
        let denied = Row { agreement_share: Some(0.89), ..row(3, Some(0.3)) };
        assert!(sharing_words(&denied).ends_with("could not be determined"));
        assert!(
            findings(&[(0, &denied)]).is_empty()
                && metrics(&denied).is_empty()
                && next(std::slice::from_ref(&denied)).is_none()
        );
        let cleared = denied.with_confirmed_sharing();
        assert!(cleared.shared_share.is_none() && cleared.costs.is_empty() && cleared.hours.is_empty());
        let agreed = Row { agreement_share: Some(0.9), ..row(3, Some(0.3)) };
        assert_eq!(agreed.clone().with_confirmed_sharing(), agreed);
        assert_eq!(findings(&[(0, &agreed)]).len(), 1);
    }

    #[test]
    fn share_with_a_doubtful_best_is_a_lower_bound() {
        let ends = Some(Interval::new(0.04, 0.06));
        let doubt = Some("even the best probes differ from each other".into());
        let doubted = Row { doubt, shared_share_ci: ends, ..row(1, Some(0.05)) };
        assert!(
            sharing_words(&doubted).contains("for 5.0 % (95 % CI 4.0–6.0 %) or more of the time"),
            "{}",
            sharing_words(&doubted)
        );
        assert!(
            sharing_words(&doubted).contains("took 1.75× (1.73–1.77×) or more as long,"),
            "{}",
            sharing_words(&doubted)
        );
        assert!(!sharing_words(&row(1, Some(0.05))).contains("or more"));
    }

    #[test]
    fn share_without_an_interval_is_marked() {
        let few = Row { shared_share_ci: None, costs: Vec::new(), ..row(1, Some(0.34)) };
        assert_eq!(
            sharing_words(&few),
            "An SMT sibling used the core of CPU 1 for 34.0 % (no confidence interval) of the time"
        );
    }

    #[test]
    fn core_without_sharing_is_reported_as_exclusive() {
        assert_eq!(sharing_words(&row(2, Some(0.0))), "No SMT interference was detected on CPU 2");
    }

    #[test]
    fn memory_and_remote_cache_lines_are_costs() {
        let found = costs(&[row(0, None)]);
        let values: Vec<(&str, f64)> = found.iter().map(|cost| (cost.what.as_str(), cost.ns)).collect();
        assert_eq!(values, [("a load from memory", 85.0), ("a cache line of CPU 1", 61.0)]);
        assert_eq!(found[1].condition, "from CPU 0, another core");
        assert_eq!(costs(&[]), []);
    }

    /// The share of the time differs from hour to hour, the cost hardly.
    #[test]
    fn cost_of_sharing_is_comparable_between_hours() {
        let found = metrics(&row(0, Some(0.34)));
        let of = |figure: &str| found.iter().find(|metric| metric.figure == figure).unwrap();
        assert_eq!(of("core shared").variation, VariationSource::Others);
        assert_eq!(of("core shared").interval, Some(Interval::new(0.28, 0.40)));
        assert_eq!(of("shared over exclusive").variation, VariationSource::Operation);
    }
}
