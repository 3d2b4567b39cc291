//! `contend model frames`: the frames that a soft real-time program loses.

use super::{Trace, figures, number, refused};
use crate::command::{contend, record, results};

#[test]
fn frames_of_1999_are_computed_and_compared() {
    let record = record(&["model", "frames", "--seed", "1"]);
    assert_eq!(record["experiment"], "model frames");
    assert_eq!(record["parameters"]["others_fraction"], "1/1025");
    for row in results(&record) {
        assert!(row["lost_quanta"].is_u64() && row["probability"].is_f64(), "{row}");
    }
    let any = figures(&record, "any", 3_000.0)[0];
    assert_eq!((number(any, "every_frames").round(), number(any, "then_every_frames")), (205.0, 205.0));
    assert!((3.0..4.0).contains(&number(any, "every_s")), "{any}");
    // With a reschedule every 100 µs, to the printed digits.
    let lost = figures(&record, "lost", 100.0);
    for (row, printed) in lost.iter().zip([(0.850, 3), (0.138, 3), (0.011, 3), (0.000_6, 4)]) {
        let (then, decimals) = printed;
        assert_eq!(format!("{:.decimals$}", number(row, "probability")), format!("{then:.decimals$}"), "{row}");
        assert_eq!(number(row, "then_probability"), then);
    }
    let total: f64 = lost.iter().map(|row| number(row, "probability")).sum();
    assert!((total - 1.0).abs() < 1e-12, "{total}");
    let more = figures(&record, "more_than", 100.0)[0];
    assert_eq!(format!("{:.3}", 100.0 - 100.0 * number(more, "probability")), "99.998");
    let animation = figures(&record, "animation", 3_000.0)[0];
    assert_eq!((number(animation, "resisted_quanta"), number(animation, "lost_quanta")), (2.0, 2.0));
    assert!((600.0..660.0).contains(&number(animation, "every_s")), "{animation}");
    // The third loss, which it cannot tolerate, is far rarer.
    assert!(number(animation, "first_glitch_s") > 100.0 * number(animation, "every_s"), "{animation}");
    assert!(!record["parameters"]["assumptions"].as_array().unwrap().is_empty());
}

#[test]
fn simulation_of_frames_is_reproducible_and_agrees() {
    let arguments = ["model", "frames", "--quantum", "100us", "--more-than", "0,0.5", "--seed"];
    let with_seed = |seed| record(&[&arguments[..], &[seed]].concat());
    assert_eq!(with_seed("5")["results"], with_seed("5")["results"]);
    assert_ne!(with_seed("5")["results"], with_seed("6")["results"]);
    for row in figures(&with_seed("5"), "more_than", 100.0) {
        let (truth, frames) = (number(row, "probability"), number(row, "simulated_frames"));
        // Six standard errors.
        let error = 6.0 * (truth * (1.0 - truth) / frames).sqrt();
        assert!((number(row, "simulated_probability") - truth).abs() <= error, "{row}");
    }
}

/// Two nice values give the same shares in rotation as by lottery scheduling, but hardly two frames differ.
#[test]
fn linux_weights_lose_as_much_and_more_evenly() {
    let record = record(&["model", "frames", "--policy", "weights", "--priorities=-5,5", "--quantum", "100us"]);
    assert_eq!(number(&record["parameters"], "others_share"), 335.0 / 3_456.0);
    let lost = figures(&record, "lost", 100.0);
    let mean = |field: &str| lost.iter().map(|row| number(row, "lost_quanta") * number(row, field)).sum::<f64>();
    assert!((mean("probability") - 166.0 * 335.0 / 3_456.0).abs() < 1e-9);
    assert!((mean("drawn_probability") - mean("probability")).abs() < 1e-6);
    assert_eq!(lost.iter().filter(|row| number(row, "probability") > 0.0).count(), 2);
}

#[test]
fn measured_trace_is_shown_with_the_frames() {
    // Two of ten frames of 10 ms lose 3 ms and one loses 0.1 ms.
    let trace = Trace::of("# span_ns 100000000\n11000000 3000000\n41000000,3000000\n77000000 100000\n");
    let path = trace.path();
    let record = record(&["model", "frames", "--frame", "10ms", "--beside", path.to_str().unwrap()]);
    let lost = figures(&record, "lost", 3_000.0);
    assert_eq!((number(lost[0], "measured_probability"), number(lost[1], "measured_probability")), (0.8, 0.2));
    let more = figures(&record, "more_than", 3_000.0)[0];
    assert_eq!((number(more, "measured_probability"), number(more, "measured_frames")), (0.2, 10.0));
    assert_eq!(record["parameters"]["beside"]["span_from"], "header");
}

#[test]
fn a_table_too_large_for_memory_stops_with_its_size() {
    let (status, stderr) = refused(&["model", "frames", "--quantum", "1ns", "--frame", "1min"]);
    assert_eq!(status, 1, "{stderr}");
    for word in ["--quantum 1ns", "stopped at 60000000001 distinct outcomes", "67108864 bytes", "longer quantum"] {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
}

#[test]
fn rows_are_written_as_csv() {
    let output = contend(&["model", "frames", "--quantum", "3ms", "--format", "csv"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let header = text.lines().next().unwrap();
    assert!(
        header.starts_with("figure,") && header.contains(",lost_quanta,") && header.contains(",probability,"),
        "{header}"
    );
}
