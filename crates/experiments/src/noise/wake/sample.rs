//! A handmade row of wake-ups, for the tests of the views.

use super::record::WakeRow;
use serde_json::json;

/// Returns a row with this number of wake-ups, half of whose latency is timer slack.
pub fn row(count: u64) -> WakeRow {
    let cause = |kind: &str, name: Option<&str>, share: f64| {
        json!({
            "kind": kind, "name": name, "pid": null, "period_us": null, "below_us": null, "count": count,
            "total_us": 100.0, "longest_us": 60.0, "share": share
        })
    };
    let causes = [cause("timer_slack", None, 0.5), cause("idle", None, 0.4), cause("task", Some("rustfmt"), 0.1)];
    let latest =
        json!({"start_s": 1.5, "late_us": 900.0, "kind": "task", "name": "rustfmt", "pid": 7, "cause_us": 800.0});
    serde_json::from_value(json!({
        "scenario": "wake", "cpu": 1, "interval_us": 1_000.0, "policy": "other", "timer": "clock_nanosleep",
        "slack_us": 50.0, "count": count, "skipped": 0, "span_s": 19.0, "late_min_us": 50.0, "late_p50_us": 60.0,
        "late_p50_ci_us": [59.0, 61.0], "late_p99_us": 100.0, "late_p999_us": 400.0,
        "late_p9999_us": (count >= 10_000).then_some(800.0), "late_max_us": 900.0, "spikes": [], "leftover_share": 1.0,
        "histogram": [], "causes": causes, "explained_share": 1.0, "latest": [latest], "stopped": null,
        "evidence": "cpu_record", "ledger": null, "role": null
    }))
    .expect("the sample is as the experiment writes it")
}
