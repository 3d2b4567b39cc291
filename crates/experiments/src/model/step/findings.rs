//! The effect of this machine's noise on a bulk-synchronous job of many nodes, and the values that are compared with
//! other records.

use super::record::{Method, Row};
use record::{Cell, Finding, Metric, Origin, Unit, VariationSource};
use terminal::{count, nanoseconds};

/// Returns the slowdown of the largest number of nodes that the length of the trace supports.
pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    let exact = rows.iter().filter(|(_, row)| row.method == Method::Exact);
    let Some((place, row)) = exact.max_by_key(|(_, row)| row.nodes) else { return Vec::new() };
    let (nodes, step) = (terminal::count(row.nodes), Unit::Ns.words(row.step_us * 1e3));
    let times = Unit::Times.words(row.slowdown);
    let words = format!(
        "A bulk-synchronous job with steps of {step} on {nodes} nodes like this machine would take {times} as long as without noise"
    );
    let source = Origin::of("model step", *place, format!("exact, {nodes} nodes"), "slowdown");
    vec![Finding::new("lock_step", words, Unit::Times, row.slowdown.into(), source)]
}

pub fn metrics(row: &Row) -> Vec<Metric> {
    let method = match row.method {
        Method::Exact => "exact",
        Method::Barrier => "simulated barrier",
        Method::Ranks => "ranks",
    };
    let cell = Cell::of([method.to_owned(), format!("{} nodes", count(row.nodes))])
        .with("step_us", format!("step {}", nanoseconds(row.step_us * 1e3)));
    vec![Metric {
        unit: Unit::Times,
        variation: VariationSource::Computed,
        alone: None,
        is_alone: false,
        ..Metric::time(&cell, "slowdown", row.slowdown, row.slowdown_ci)
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns an exact row of steps of a millisecond.
    fn row(nodes: u64, slowdown: f64) -> Row {
        serde_json::from_value(json!({
            "method": "exact", "nodes": nodes, "step_us": 1_000.0, "quiet_us": 1_000.0, "mean_us": 1_000.0 * slowdown,
            "p50_us": 1_000.0, "p90_us": null, "p99_us": null, "slowdown": slowdown, "running_slowdown": null,
            "slowdown_ci": null, "together_slowdown": 1.0, "simulated_steps": null, "supported_nodes": 10_000,
            "half_lost_nodes": null
        }))
        .expect("the sample is as the experiment writes it")
    }

    #[test]
    fn finding_is_about_the_most_nodes() {
        let (few, many) = (row(10, 1.1), row(5_000, 1.9));
        let found = findings(&[(2, &many), (3, &few)]);
        assert_eq!(
            found[0].to_string(),
            "A bulk-synchronous job with steps of 1.00 ms on 5,000 nodes like this machine would take 1.90× as \
             long as without noise \
             [model step: exact, 5,000 nodes]"
        );
        assert_eq!((found[0].value, found[0].source.row), (1.9, 2));
    }
}
