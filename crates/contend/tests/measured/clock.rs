//! `contend clock` through its binary.

use crate::command::{record, results};
use serde_json::Value;

fn rows<'a>(record: &'a Value, measurement: &'a str) -> impl Iterator<Item = &'a Value> {
    results(record).iter().filter(move |row| row["measurement"] == measurement)
}

#[test]
fn clock_keeps_time_and_is_monotonic() {
    let record = record(&["clock", "--seconds", "2"]);
    let clock = rows(&record, "clock").next().unwrap();
    assert_eq!(clock["backward_steps"], 0);
    assert!(clock["resolution_ns"].as_f64().unwrap() > 0.0);
    assert!(clock["read_cost_ns"].as_f64().unwrap() > 0.0);
    // Its calibration claims a few ppm; a thousand would be a broken conversion.
    assert!(clock["conversion_error_ppm"].as_f64().unwrap().abs() < 1_000.0, "{clock}");
    let known = clock["conversion_uncertainty_ppm"].as_f64().unwrap();
    assert!(known > 0.0 && known < clock["uncertainty_ppm"].as_f64().unwrap(), "over a longer time than that: {clock}");
    for agreement in rows(&record, "agreement") {
        assert!(agreement["offset_low_ns"].as_f64().unwrap() <= agreement["offset_high_ns"].as_f64().unwrap());
    }
}

#[test]
fn curve_spans_ten_us_to_the_longest_measured_window() {
    let record = record(&["clock", "--seconds", "1.5", "--longest", "20ms"]);
    let lengths: Vec<f64> = rows(&record, "slice").map(|row| row["slice_us"].as_f64().unwrap()).collect();
    assert!((lengths[0] - 10.0).abs() < 1e-6, "{lengths:?}");
    // Windows below 3 ms are measured however little time there is.
    assert!((2_500.0..20_001.0).contains(lengths.last().unwrap()), "{lengths:?}");
    assert!(lengths.windows(2).all(|pair| pair[0] < pair[1]), "{lengths:?}");
    for slice in rows(&record, "slice") {
        assert!(slice["best_mhz"].as_f64() >= slice["median_mhz"].as_f64(), "{slice}");
    }
    assert_eq!(rows(&record, "grind").count(), 1);
    assert_eq!(rows(&record, "grind_check").count(), 5);
    assert_eq!(rows(&record, "losses").count(), 1);
}
