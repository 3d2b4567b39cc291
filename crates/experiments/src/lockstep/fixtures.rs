//! A handmade record of a job in the program's format, for the tests of the views.

use ::lockstep::record::LockstepRecord;
use serde_json::{Value, json};

/// Returns two ranks that agree with the model, and four that share two CPUs and do not.
pub fn record() -> LockstepRecord {
    let environment: Value =
        serde_json::from_str(include_str!("../../../contend/tests/records/model-step.json")).expect("a stored record");
    let record = json!({
        "schema": "contend/1", "experiment": "lockstep", "environment": environment["environment"],
        "parameters": {
            "step_us": 1_000.0, "collective": "barrier", "ranks": 2, "hosts": ["here"], "turns": 10, "seconds": 2.0,
            "injected_us": 200.0, "injected_every_us": 10_000.0, "mpi": "Open MPI v4.1.4", "assumptions": ["none"]
        },
        "results": [steps(1, 1.02, 1.021, Some(true)), steps(2, 1.04, 1.05, Some(false)),
            {"figure": "nodes", "nodes": 10_000_000, "slowdown": 1.9, "slowdown_ci": [1.5, 2.3],
             "together_slowdown": 1.04, "supported": false, "supported_nodes": 1_386},
            {"figure": "long_step", "ranks": 2, "turn": 3, "step": 17, "length_us": 1_900.0, "last": 1,
             "lost_us": [0.0, 890.0], "cause": {"kind": "task", "name": "cron", "pid": 7}},
            rank(0), rank(1)],
        "warnings": []
    });
    serde_json::from_value(record).expect("the sample is as the program writes it")
}

fn steps(ranks: u64, slowdown: f64, predicted: f64, agree: Option<bool>) -> Value {
    json!({
        "figure": "steps", "ranks": ranks, "steps": 900, "quiet_us": 1_001.0, "barrier_us": 1.0,
        "mean_us": 1_001.0 * slowdown, "p50_us": 1_001.0, "p99_us": 1_400.0, "longest_us": 1_900.0,
        "slowdown": slowdown, "slowdown_ci": [slowdown - 0.01, slowdown + 0.01],
        "predicted_slowdown": predicted, "predicted_ci": [predicted - 0.01, predicted + 0.01],
        "apart_slowdown": predicted, "agree": agree, "oversubscribed": false
    })
}

fn rank(rank: u64) -> Value {
    json!({
        "figure": "rank", "rank": rank, "host": "here", "cpu": rank, "ranks_on_cpu": 1, "clock_offset_us": 3.0,
        "clock_error_us": 0.4, "clock_drift_ppm": 0.1, "work_us": 1_000.0, "work_in_steps_us": 1_000.0,
        "margin_us": 0.3, "gaps": 2, "lost_share": 0.02, "longest_us": 200.0, "lost_in_steps_share": 0.02,
        "last_steps": 300, "maybe_last_steps": 900,
        "causes": [{"kind": "own", "name": "injected", "pid": null, "count": 2, "total_us": 400.0, "share": 1.0}],
        "causes_in_steps": [], "explained_share": 0.9, "evidence": "cpu_record",
        "trace": "# span_ns 20000000;1000000 200000;11000000 200000"
    })
}
