//! Rows as experiments make them, by hand, for the tests of what is said of them.

use super::findings::Finding;
use crate::experiments::{latency, load, model, noise, ring, throughput};
use serde_json::{Value, json};

fn read<R: serde::de::DeserializeOwned>(row: Value) -> R {
    serde_json::from_value(row).expect("the sample is as the experiment writes it")
}

/// As the closing screen has it.
pub fn traced(finding: &Finding) -> String {
    format!("{} {}", finding.words, finding.source.words())
}

/// Locking: 99 % free in 9 ns, 1 % waited for 11 µs; a bare pair takes 18 ns.
pub fn latency_row(lock: &str, threads: usize, competitors: usize) -> latency::Row {
    let spike = |label: &str, share: f64, ns: f64, cause: &str| {
        json!({
            "label": label, "share": share, "count": 1_000, "mean_ns": ns, "median_ns": ns,
            "median_ci_ns": [ns - ns / 11.0, ns + ns / 11.0], "from_ns": ns / 2.0, "to_ns": ns * 2.0, "echo_of": null,
            "delay_ns": null, "cause": cause, "cause_share": 1.0, "evidence_share": 1.0, "median_with_evidence_ns": null
        })
    };
    read(json!({
        "lock": lock, "threads": threads, "competitors": competitors, "placement": "one-cpu", "hold_us": 6.1, "thread": 0,
        "cpu": 0, "operation": "lock", "count": 100_000, "min_ns": 8.0, "p50_ns": 9.0, "p90_ns": 10.0, "p99_ns": 11e3,
        "p999_ns": 12e3, "max_ns": 1e6, "mean_ns": 100.0, "p50_ci_ns": [8.5, 9.5], "p90_ci_ns": null, "p99_ci_ns": null,
        "p999_ci_ns": null, "spikes": [spike("A", 0.99, 9.0, "uncontended"), spike("B", 0.01, 11e3, "waited for the holder")],
        "leftover_share": 0.0, "histogram": [], "ended_by": "converged", "slices": 9, "witnessed_slices": 3,
        "evidence": "cpu_record", "ledger": null, "resolution_ns": 1.0, "bare_pair_ns": 18.0, "bare_pair_ci_ns": [17.0, 19.0],
        "clock_cost_ns": 14.0, "recording_ns": 40.0
    }))
}

/// 3 µs with the lock and 7 µs without it; the interval is 1 % to either side.
pub fn throughput_row(lock: &str, children: usize, throughput_per_s: f64) -> throughput::Row {
    read(json!({
        "lock": lock, "children": children, "processes": false, "locks": 1, "nonhold_us": 7.0, "hold_us": 3.0, "share": 0,
        "patience_us": 0.0, "run_s": 0.1, "iterations": 6, "converged": true, "ended_by": "converged",
        "write_contended_share": 0.5, "read_contended_share": null, "retry": null, "cov": 0.1,
        "throughput_per_s": throughput_per_s, "throughput_ci": [throughput_per_s * 0.99, throughput_per_s * 1.01],
        "hold_seen_us": 3.0, "ideal_per_s": 2e5, "ideal_share": 0.9, "waits_count": 10, "wait_p50_ns": null,
        "wait_p99_ns": null, "wait_max_ns": null, "longest_run": null, "syscalls_per_op": null,
        "voluntary_switches_per_op": 0.1, "involuntary_switches_per_op": 0.0, "cpus_used": 2.0, "then": null
    }))
}

/// 0.9 % lost, two thirds of it to the timer, in turns of 750 ms.
pub fn noise_row(scenario: &str) -> noise::Row {
    let turn = json!({
        "span_s": 0.75, "samples": 64_000_000, "gaps": 500, "over_256us": 10, "longest_us": 3_000.0, "lost_share": 0.009,
        "unwatched_s": 0.0
    });
    let cause = json!({
        "kind": "interrupt", "name": "local_timer", "pid": null, "period_us": null, "below_us": null, "count": 400,
        "total_us": 5_000.0, "longest_us": 20.0, "share": 0.66
    });
    read(json!({
        "scenario": scenario, "cpu": 1, "samples": 64_000_000, "span_s": 0.75, "loop_ns": 11.0, "loop_check_ns": 11.0,
        "bare_loop_ns": 10.0, "threshold_ns": 150.0, "least_threshold_ns": 150.0, "gaps": 500, "gaps_per_s": 600.0,
        "over_256us": 10, "longest_us": 3_500.0, "longest_p50_us": 3_000.0, "longest_ci_us": [2_000.0, 4_000.0],
        "median_gap_us": 5.0, "p99_gap_us": 50.0, "lost_share": 0.009, "lost_ci_share": [0.007, 0.011], "unwatched_s": 0.0,
        "turns": [turn], "causes": [cause], "explained_share": 0.9, "explained_or_periodic_share": 0.9,
        "evidence": "cpu_record", "ledger": null, "events_in_gaps": 500, "events_outside_gaps": 0, "preempted_gaps": null,
        "competitors_cpu_share": null, "rescheduler_cpu_share": null, "rescheduler_wakes_per_s": null,
        "then": {"bare_over_256us": 35, "bare_longest_us": 3_060.0, "normal_over_256us": 702, "normal_longest_us": 4_776.0}
    }))
}

/// A CPU of which a soaker got so much; 5 points less in its worst interval, one more in its best.
pub fn load_row(cpu: usize, got: f64) -> load::Row {
    read(json!({
        "measurement": "total", "time_s": 6.0, "cpu": cpu, "intervals": 12, "priority": "idle", "load_share": 1.0 - got,
        "cputime_share": got, "grind_share": got, "lost_inside_share": 0.0, "proc_stat_share": 0.0, "exec_share": null,
        "speed_share": 1.0, "cputime_most_share": got + 0.01, "cputime_least_share": got - 0.05, "taken_share": null,
        "taken_ci": null, "efficiency_share": 0.998, "efficiency_ci": [0.99, 1.0], "proc_stat_resolution_share": 0.001
    }))
}

/// A ring of 503; the interval is a tenth to either side.
pub fn ring_row(contestant: &str, class: ring::Class, ns_per_hop: f64) -> ring::Row {
    read(json!({
        "contestant": contestant, "class": class, "scheduler": "fifo", "threads": 503, "hops": 1_000, "answer": 498,
        "correct": true, "failure": null, "large": false, "arrangement": null, "pinned": true, "ns_per_hop": ns_per_hop,
        "ns_per_hop_ci": [ns_per_hop * 0.9, ns_per_hop * 1.1], "repeats": 14, "spent_s": 1.0, "ended_by": "converged",
        "start_ms": null, "limit": null, "limit_ns": null, "times_limit": null, "rss_kib": null, "bytes_per_thread": null,
        "kernel_bytes_per_thread": null, "kernel_stack_bytes_per_thread": null, "slab_bytes_per_thread": null,
        "page_table_bytes_per_thread": null, "wasted_polls_per_hop": null, "voluntary_switches_per_hop": null,
        "involuntary_switches_per_hop": null, "steal_share": null, "then": []
    }))
}

/// Steps of a millisecond, exactly.
pub fn step_row(nodes: u64, slowdown: f64) -> model::StepRow {
    read(json!({
        "method": "exact", "nodes": nodes, "step_us": 1_000.0, "quiet_us": 1_000.0, "mean_us": 1_000.0 * slowdown,
        "p50_us": 1_000.0, "p90_us": null, "p99_us": null, "slowdown": slowdown, "running_slowdown": null,
        "slowdown_ci": null, "together_slowdown": 1.0, "simulated_steps": null, "supported_nodes": 10_000,
        "half_lost_nodes": null
    }))
}
