//! Handmade parameters and rows of the experiment, for the tests of the views.

use super::plan::Parameters;
use super::record::Row;
use instruments::environment::Environment;
use serde_json::json;
use std::path::Path;

/// Returns the environment of a machine of which nothing is known.
pub fn environment() -> Environment {
    Environment::probe_under(Path::new("/nonexistent"))
}

/// Returns the parameters of a run with the defaults of the scenarios with a competitor.
pub fn parameters() -> Parameters {
    serde_json::from_value(json!({
        "remedies": false, "samples_a_turn": 1_000, "turn_s": 0.75, "budget_s": 20.0, "cpu": 1, "reader_nice": -12,
        "competitor_nice": 19, "weight_ratio": 997.0, "competitors": 1, "rescheduler_us": 125.0, "evidence": "best",
        "interval_s": null, "order": []
    }))
    .expect("the sample is as the experiment writes it")
}

/// Returns a row with 0.9 % lost, two thirds of it to the timer, in repetitions of 750 ms.
pub fn row(scenario: &str) -> Row {
    let turn = json!({
        "span_s": 0.75, "samples": 64_000_000, "gaps": 500, "over_256us": 10, "longest_us": 3_000.0, "lost_share": 0.009,
        "unwatched_s": 0.0
    });
    let cause = json!({
        "kind": "interrupt", "name": "local_timer", "pid": null, "period_us": null, "below_us": null, "count": 400,
        "total_us": 5_000.0, "longest_us": 20.0, "share": 0.66
    });
    serde_json::from_value(json!({
        "scenario": scenario, "cpu": 1, "samples": 64_000_000, "span_s": 0.75, "loop_ns": 11.0, "loop_check_ns": 11.0,
        "bare_loop_ns": 10.0, "threshold_ns": 150.0, "least_threshold_ns": 150.0, "gaps": 500, "gaps_per_s": 600.0,
        "over_256us": 10, "longest_us": 3_500.0, "longest_p50_us": 3_000.0, "longest_ci_us": [2_000.0, 4_000.0],
        "median_gap_us": 5.0, "p99_gap_us": 50.0, "lost_share": 0.009, "lost_ci_share": [0.007, 0.011], "unwatched_s": 0.0,
        "turns": [turn], "causes": [cause], "explained_share": 0.9, "explained_or_periodic_share": 0.9,
        "evidence": "cpu_record", "ledger": null, "events_in_gaps": 500, "events_outside_gaps": 0, "preempted_gaps": null,
        "competitors_cpu_share": null, "rescheduler_cpu_share": null, "rescheduler_wakes_per_s": null,
        "then": {"bare_over_256us": 35, "bare_longest_us": 3_060.0, "normal_over_256us": 702, "normal_longest_us": 4_776.0}
    }))
    .expect("the sample is as the experiment writes it")
}

/// Returns such a row with a competitor that has a time slice every 276 ms, and this longest part of a gap.
pub fn contested(scenario: &str, competitor_longest_us: f64) -> Row {
    Row {
        competitors_cpu_share: Some(0.014),
        competitor_slice_every_s: Some(0.276),
        competitor_longest_us: Some(competitor_longest_us),
        competitor_longest_p50_us: Some(competitor_longest_us),
        ..row(scenario)
    }
}
