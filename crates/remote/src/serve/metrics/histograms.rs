//! Distributions of the last runs: gaps, wake-ups, waits for locks.
//!
//! Only classic histograms are exported. Native ones have bounds at powers of a root of two. The bins of a record are
//! at steps of the clock and at eighths and sixteenths of an octave. They would have to be spread over those of
//! Prometheus, which would invent values.

use super::samples::{Distribution, Samples};
use serde_json::Value;

const GAPS: &str = "Gaps in the execution of a runnable thread, in the last run";
const LATE: &str = "Wake-up latency of a thread after its timer, in the last run";
const WAITS: &str = "Waiting times for a lock of the traced program, in the last run";

pub fn add(samples: &mut Samples, host: &str, experiment: &str, rows: &[Value]) {
    for row in rows {
        let word = |field: &str| match &row[field] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let labels = |names: &[&'static str]| -> Vec<(&'static str, String)> {
            [("host", host.to_owned())].into_iter().chain(names.iter().map(|name| (*name, word(name)))).collect()
        };
        match (experiment, row["scenario"].as_str(), row["kind"].as_str()) {
            ("noise", Some("wake"), _) => {
                let late = row["histogram"].as_array().map(|bins| binned(bins, None));
                let named = labels(&["cpu", "policy", "timer", "interval_us"]);
                late.into_iter().for_each(|late| samples.histogram("contend_wake_late", LATE, &named, late));
            }
            ("noise", Some(_), _) => {
                let named = labels(&["cpu", "scenario"]);
                gaps(row).into_iter().for_each(|gaps| samples.histogram("contend_gap", GAPS, &named, gaps));
            }
            ("trace", _, Some("lock")) => {
                let waits = row["waits"].as_array().map(|bins| binned(bins, row["wait_total_s"].as_f64()));
                let named = labels(&["lock", "address", "process", "source"]);
                waits.into_iter().for_each(|waits| samples.histogram("contend_lock_wait", WAITS, &named, waits));
            }
            _ => {}
        }
    }
}

/// Returns the distribution of gaps.
///
/// A record counts the gaps that are longer than each of these bounds; an older one lacks some.
fn gaps(row: &Value) -> Option<Distribution> {
    let count = row["gaps"].as_u64()?;
    let over = ["over_1us", "over_10us", "over_100us", "over_256us", "over_1ms"];
    let bounds = [1e-6, 1e-5, 1e-4, 256e-6, 1e-3];
    let (mut below, mut buckets) = (0, Vec::new());
    for (field, bound) in over.into_iter().zip(bounds) {
        let Some(over) = row[field].as_u64() else { continue };
        let until = count.saturating_sub(over).max(below);
        buckets.push((bound, until - below));
        below = until;
    }
    buckets.push((f64::INFINITY, count - below));
    let sum = row["lost_share"].as_f64()? * row["span_s"].as_f64()?;
    Some(Distribution { sum, count, buckets })
}

/// The bounds for values that were counted in bins: 1, 2 and 5 of each power of ten.
const BOUNDS: [f64; 26] = [
    1e-7,
    2e-7,
    5e-7,
    1e-6,
    2e-6,
    5e-6,
    1e-5,
    2e-5,
    5e-5,
    1e-4,
    2e-4,
    5e-4,
    1e-3,
    2e-3,
    5e-3,
    1e-2,
    2e-2,
    5e-2,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    f64::INFINITY,
];

/// Returns the distribution of bins.
///
/// A bin counts below a bound if all of it is below. Where no sum was recorded, that of the bins' middles is used.
fn binned(bins: &[Value], sum: Option<f64>) -> Distribution {
    let read = |bin: &Value| {
        let seconds = |field: &str| Some(bin[field].as_f64()? * 1e-9);
        Some((seconds("from_ns")?, seconds("to_ns")?, bin["count"].as_u64()?))
    };
    let bins: Vec<(f64, f64, u64)> = bins.iter().filter_map(read).collect();
    let count = bins.iter().map(|(_, _, count)| count).sum();
    let (mut below, mut buckets) = (0, Vec::new());
    for bound in BOUNDS {
        // Bounds are rounded, and so are the bins' ends.
        let until: u64 = bins.iter().filter(|(_, to, _)| *to <= bound * (1.0 + 1e-12)).map(|(_, _, count)| count).sum();
        buckets.push((bound, until - below));
        below = until;
    }
    let middles = || bins.iter().map(|(from, to, count)| (from + to) / 2.0 * *count as f64).sum();
    Distribution { sum: sum.unwrap_or_else(middles), count, buckets }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn gaps_are_between_their_bounds() {
        let row = json!({ "gaps": 10, "over_1us": 6, "over_10us": 3, "over_100us": 3, "over_256us": 1, "over_1ms": 0,
                          "lost_share": 0.5, "span_s": 2.0 });
        let found = gaps(&row).unwrap();
        assert_eq!((found.sum, found.count), (1.0, 10));
        let counts: Vec<u64> = found.buckets.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [4, 3, 0, 2, 1, 0]);
        // An old record, from before the other bounds were counted.
        let old = gaps(&json!({ "gaps": 10, "over_256us": 1, "lost_share": 0.5, "span_s": 2.0 })).unwrap();
        assert_eq!(old.buckets, [(256e-6, 9), (f64::INFINITY, 1)]);
    }

    #[test]
    fn bin_counts_below_a_bound_if_entirely_below() {
        let bins = [
            json!({ "from_ns": 900.0, "to_ns": 1000.0, "count": 2 }),
            json!({ "from_ns": 1900.0, "to_ns": 2100.0, "count": 3 }),
        ];
        let found = binned(&bins, None);
        let at = |bound: f64| {
            found.buckets.iter().filter(|(upper, _)| *upper <= bound * 1.001).map(|(_, count)| count).sum::<u64>()
        };
        assert_eq!([at(5e-7), at(1e-6), at(2e-6), at(5e-6), found.count], [0, 2, 2, 5, 5]);
        assert!((found.sum - 7.9e-6).abs() < 1e-12);
    }
}
