//! Handmade rows of the experiment, for the tests of the views.

use super::record::Row;
use loops::ring::Class;
use serde_json::json;

/// Returns a row of a ring of 503; the interval is a tenth to either side.
pub fn row(contestant: &str, class: Class, ns_per_hop: f64) -> Row {
    serde_json::from_value(json!({
        "contestant": contestant, "class": class, "scheduler": "fifo", "threads": 503, "hops": 1_000, "answer": 498,
        "correct": true, "failure": null, "large": false, "arrangement": null, "pinned": true, "ns_per_hop": ns_per_hop,
        "ns_per_hop_ci": [ns_per_hop * 0.9, ns_per_hop * 1.1], "repeats": 14, "spent_s": 1.0, "ended_by": "converged",
        "start_ms": null, "limit": null, "limit_ns": null, "times_limit": null, "rss_kib": null, "bytes_per_thread": null,
        "kernel_bytes_per_thread": null, "kernel_stack_bytes_per_thread": null, "slab_bytes_per_thread": null,
        "page_table_bytes_per_thread": null, "wasted_polls_per_hop": null, "voluntary_switches_per_hop": null,
        "involuntary_switches_per_hop": null, "steal_share": null, "then": []
    }))
    .expect("the sample is as the experiment writes it")
}
