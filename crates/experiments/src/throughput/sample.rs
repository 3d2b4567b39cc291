//! Rows as the experiment makes them, by hand, for the tests of the statements about them.

use super::record::Row;
use serde_json::json;

/// Returns a row with 3 µs with the lock and 7 µs without it; the interval is 1 % to either side.
pub fn row(lock: &str, children: usize, throughput_per_s: f64) -> Row {
    serde_json::from_value(json!({
        "lock": lock, "children": children, "processes": false, "locks": 1, "nonhold_us": 7.0, "hold_us": 3.0, "share": 0,
        "patience_us": 0.0, "run_s": 0.1, "iterations": 6, "converged": true, "ended_by": "converged",
        "write_contended_share": 0.5, "read_contended_share": null, "retry": null, "cov": 0.1,
        "throughput_per_s": throughput_per_s, "throughput_ci": [throughput_per_s * 0.99, throughput_per_s * 1.01],
        "hold_seen_us": 3.0, "ideal_per_s": 2e5, "ideal_share": 0.9, "waits_count": 10, "wait_p50_ns": null,
        "wait_p99_ns": null, "wait_max_ns": null, "longest_run": null, "syscalls_per_op": null,
        "voluntary_switches_per_op": 0.1, "involuntary_switches_per_op": 0.0, "cpus_used": 2.0, "then": null
    }))
    .expect("the sample is as the experiment writes it")
}
