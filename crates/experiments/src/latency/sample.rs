//! Handmade rows of the experiment, for the tests of the views.

use super::record::Row;
use serde_json::json;

/// Returns a row of locking: 99 % uncontended in 9 ns, 1 % waited for 11 µs; a bare pair takes 18 ns.
pub fn row(lock: &str, threads: usize, competitors: usize) -> Row {
    let spike = |label: &str, share: f64, ns: f64, cause: &str| {
        json!({
            "label": label, "share": share, "count": 1_000, "mean_ns": ns, "median_ns": ns,
            "median_ci_ns": [ns - ns / 11.0, ns + ns / 11.0], "from_ns": ns / 2.0, "to_ns": ns * 2.0, "echo_of": null,
            "delay_ns": null, "cause": cause, "cause_share": 1.0, "evidence_share": 1.0, "median_with_evidence_ns": null
        })
    };
    serde_json::from_value(json!({
        "lock": lock, "threads": threads, "competitors": competitors, "placement": "one-cpu", "hold_us": 6.1, "thread": 0,
        "cpu": 0, "operation": "lock", "count": 100_000, "min_ns": 8.0, "p50_ns": 9.0, "p90_ns": 10.0, "p99_ns": 11e3,
        "p999_ns": 12e3, "max_ns": 1e6, "mean_ns": 100.0, "p50_ci_ns": [8.5, 9.5], "p90_ci_ns": null, "p99_ci_ns": null,
        "p999_ci_ns": null, "spikes": [spike("A", 0.99, 9.0, "uncontended"), spike("B", 0.01, 11e3, "waited for the holder")],
        "leftover_share": 0.0, "histogram": [], "ended_by": "converged", "slices": 9, "witnessed_slices": 3,
        "evidence": "cpu_record", "ledger": null, "resolution_ns": 1.0, "bare_pair_ns": 18.0, "bare_pair_ci_ns": [17.0, 19.0],
        "clock_cost_ns": 14.0, "recording_ns": 40.0
    }))
    .expect("the sample is as the experiment writes it")
}
