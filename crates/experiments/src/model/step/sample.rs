//! Rows as the experiment makes them, by hand, for the tests of what is said of them.

use super::record::Row;
use serde_json::json;

/// Steps of a millisecond, exactly.
pub fn row(nodes: u64, slowdown: f64) -> Row {
    serde_json::from_value(json!({
        "method": "exact", "nodes": nodes, "step_us": 1_000.0, "quiet_us": 1_000.0, "mean_us": 1_000.0 * slowdown,
        "p50_us": 1_000.0, "p90_us": null, "p99_us": null, "slowdown": slowdown, "running_slowdown": null,
        "slowdown_ci": null, "together_slowdown": 1.0, "simulated_steps": null, "supported_nodes": 10_000,
        "half_lost_nodes": null
    }))
    .expect("the sample is as the experiment writes it")
}
