//! `contend model step`: the delay of the slowest of many nodes.

use super::{Trace, number, once_a_second, refused, words};
use crate::command::{contend, record, results};
use serde_json::Value;

/// A node is late by the rest of the gap that its step begins in, or by all of one that it meets.
///
/// With shares of a thousandth each, F(x) = 0.998 + 0.001 x up to 1 ms. The slowest of N has the mean ∫ 1 - F(x)^N dx.
#[test]
fn a_gap_of_1_ms_a_second_has_its_closed_form() {
    let trace = once_a_second(1_500);
    let arguments = trace.step(&["--nodes", "1,1000,1000000", "--processes", "1"]);
    let record = record(&words(&arguments));
    assert_eq!(record["experiment"], "model step");
    let exact: Vec<&Value> = results(&record).iter().filter(|row| row["method"] == "exact").collect();
    assert_eq!(exact.len(), 3);
    for row in exact {
        let n = number(row, "nodes");
        let closed = 2.0 - (0.999_f64.powf(n + 1.0) - 0.998_f64.powf(n + 1.0)) / (0.001 * (n + 1.0));
        assert!((number(row, "slowdown") / closed - 1.0).abs() < 1e-3, "{row} {closed}");
        assert!((number(row, "mean_us") - 1_000.0 * closed).abs() < 1.0, "{row}");
        assert_eq!(number(row, "step_us"), 1_000.0);
        // One in 999 steps that start while the node runs meets the gap.
        let running = 2.0 - (998.0_f64 / 999.0).powf(n);
        assert!((number(row, "running_slowdown") / running - 1.0).abs() < 1e-3, "{row} {running}");
        assert!((number(row, "together_slowdown") - 1.001_5).abs() < 1e-9);
        let p50 = if n == 1.0 { 1_000.0 } else { 2_000.0 };
        assert!((number(row, "p50_us") - p50).abs() < 1.0, "{row}");
        // A million medians fit into the trace, but fewer of the p99.
        assert_eq!(row["p99_us"].is_null(), n == 1e6, "{row}");
    }
}

#[test]
fn barrier_is_delayed_by_independent_noise_reproducibly() {
    let trace = once_a_second(1);
    let simulate = |seed| {
        let arguments = trace.step(&["--nodes", "256", "--processes", "1,256", "--steps", "60", "--seed", seed]);
        record(&words(&arguments))
    };
    let first = simulate("3");
    let barrier: Vec<&Value> = results(&first).iter().filter(|row| row["method"] == "barrier").collect();
    let many = barrier[1];
    assert_eq!((number(many, "nodes"), number(many, "simulated_steps")), (256.0, 600.0));
    // Eight rounds of 1.5 µs.
    assert_eq!(number(many, "quiet_us"), 1_012.0);
    // The exact value is 1.31: a quarter of the steps meet a gap.
    assert!((1.1..1.6).contains(&number(many, "slowdown")), "{many}");
    assert!(number(many, "together_slowdown") < 1.05 && number(barrier[0], "slowdown") < 1.05);
    assert!(many["slowdown_ci"].is_array());
    assert_eq!(first["results"], simulate("3")["results"]);
    assert_ne!(first["results"], simulate("4")["results"]);
}

#[test]
fn results_beyond_the_trace_are_refused_or_marked() {
    let trace = once_a_second(1);
    let (status, stderr) = refused(&words(&trace.step(&["--nodes", "1,1000000"])));
    assert_eq!(status, 2, "{stderr}");
    for word in ["--nodes 1000000", "supports 692 nodes", "contend noise", "--extrapolate"] {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
    let (status, stderr) = refused(&words(&trace.step(&["--processes", "65536"])));
    assert!(status == 2 && stderr.contains("--processes 65536"), "{stderr}");
    // By default, it goes as far as the trace does, and reports that.
    let reached = record(&words(&trace.step(&["--processes", "1", "--steps", "10"])));
    assert!(results(&reached).iter().all(|row| number(row, "nodes") <= 692.0));
    let warned =
        |record: &Value, code: &str| record["warnings"].as_array().unwrap().iter().any(|it| it["code"] == code);
    assert!(warned(&reached, "left_out"), "{}", reached["warnings"]);
    let beyond = trace.step(&["--nodes", "1000000", "--processes", "1", "--steps", "10", "--extrapolate"]);
    let beyond = record(&words(&beyond));
    assert!(warned(&beyond, "extrapolated") && results(&beyond)[0]["p99_us"].is_f64());
}

#[test]
fn gap_longer_than_a_step_is_counted_with_a_warning() {
    let trace = Trace::of("# span_ns 1000000000\n5000000 5000000\n");
    let record =
        record(&words(&trace.step(&["--step", "1ms", "--nodes", "1,100", "--processes", "4", "--steps", "10"])));
    let warnings = record["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["code"] == "step_shorter_than_gap"), "{warnings:?}");
    // A step begins in the gap or meets it six times in a thousand, and waits at most 5 ms.
    let row = &results(&record)[1];
    assert!((2.0..6.0).contains(&number(row, "slowdown")), "{row}");
}

#[test]
fn simulated_time_that_would_overflow_is_refused() {
    let trace = Trace::of("# span_ns 9000000000000000000\n10 5\n");
    let (status, stderr) = refused(&words(&trace.step(&[])));
    assert!(status == 2 && stderr.contains("--step 1ms") && stderr.contains("64 bits"), "{stderr}");
}

#[test]
fn intervals_state_that_they_cover_one_recording() {
    let text =
        String::from_utf8(contend(&words(&once_a_second(1).step(&["--steps", "10", "--quiet"]))).stdout).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("not the difference to another recording"), "{text}");
}
