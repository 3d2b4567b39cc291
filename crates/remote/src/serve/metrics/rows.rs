//! The metrics of a record's rows.

use super::samples::{Distribution, Samples};
use record::{Metric, Naming, Unit};
use serde_json::Value;

/// Adds the samples of a run's rows.
pub fn add(samples: &mut Samples, host: &str, experiment: &str, rows: &[Value]) {
    comparable_values(samples, host, experiment, rows);
    distributions(samples, host, experiment, rows);
    lost_time(samples, host, experiment, rows);
    interference(samples, host, experiment, rows);
}

// The comparable values of a record (those of `contend compare`), in base units.

/// The maximum number of values of one record: more are not useful on a dashboard.
const MOST: usize = 1_000;

const VALUE: &str = "A value of the last run, named as in contend compare";
const LOW: &str = "Lower end of its 95 % confidence interval";
const HIGH: &str = "Upper end of its 95 % confidence interval";

fn comparable_values(samples: &mut Samples, host: &str, experiment: &str, rows: &[Value]) {
    // Findings of a survey have no values, and neither has a record of a newer contend.
    let Some(entry) = experiments::named(experiment) else { return };
    let rows: Vec<(usize, &Value)> = rows.iter().enumerate().collect();
    let Ok(metrics) = entry.read(&rows).map(|rows| rows.metrics()) else { return };
    let naming = Naming::across(&metrics);
    for metric in metrics.iter().take(MOST) {
        let (unit, factor) = base(metric.unit);
        let labels = [
            ("host", host.to_owned()),
            ("experiment", experiment.to_owned()),
            ("cell", name(&naming, metric)),
            ("figure", metric.figure.to_owned()),
        ];
        let ends = metric.interval.map(|interval| [("_low", LOW, interval.low), ("_high", HIGH, interval.high)]);
        for (end, help, value) in [("", VALUE, metric.value)].into_iter().chain(ends.into_iter().flatten()) {
            // The unit is the last word of a name, so the kinds of values are distinguished by the name and not by a
            // label.
            samples.gauge(&format!("contend_figure{end}"), help, Some(unit), &labels, value * factor);
        }
    }
}

fn name(naming: &Naming, metric: &Metric) -> String {
    let name = naming.name(metric);
    if metric.is_alone { format!("{name}, core exclusive") } else { name }
}

/// Returns the base unit of Prometheus, and the factor to it.
fn base(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Ns => ("seconds", 1e-9),
        Unit::Share | Unit::Times | Unit::Probability => ("ratio", 1.0),
        Unit::Mhz => ("hertz", 1e6),
        Unit::Cycles => ("cycles", 1.0),
        Unit::PerS => ("per_second", 1.0),
        Unit::Number => ("number", 1.0),
    }
}

// Distributions of the last runs: gaps, wake-ups, waits for locks.
//
// Only classic histograms are exported. Native ones have bounds at powers of a root of two. The bins of a record are
// at steps of the clock and at eighths and sixteenths of an octave. They would have to be spread over those of
// Prometheus, which would invent values.

const GAPS: &str = "Gaps in the execution of a runnable thread, in the last run";
const LATE: &str = "Wake-up latency of a thread after its timer, in the last run";
const WAITS: &str = "Waiting times for a lock of the traced program, in the last run";

fn distributions(samples: &mut Samples, host: &str, experiment: &str, rows: &[Value]) {
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

// The lost CPU time by cause, and the rest that other programs' load left.

const LOST: &str = "Share of a CPU's time that a running thread lost to a cause, in the last run";
const LOAD: &str = "Share of a CPU's time that an idle-priority spinner did not get, in the last run";
const TAKEN: &str = "Share of a CPU's time that the idle-priority spinner took from other threads, in the last run";

fn lost_time(samples: &mut Samples, host: &str, experiment: &str, rows: &[Value]) {
    for row in rows {
        let cpu = ("cpu", row["cpu"].to_string());
        match experiment {
            "noise" if row["scenario"] != "wake" => lost(samples, host, cpu, row),
            "load" if row["measurement"] == "total" => {
                let labels = [("host", host.to_owned()), cpu];
                for (name, help, field) in
                    [("contend_load", LOAD, "load_share"), ("contend_load_taken", TAKEN, "taken_share")]
                {
                    if let Some(share) = row[field].as_f64() {
                        samples.gauge(name, help, Some("ratio"), &labels, share);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Exports each cause's share of the gaps, as part of the share of all gaps.
///
/// Causes with one name are added up, whichever process they were.
fn lost(samples: &mut Samples, host: &str, cpu: (&'static str, String), row: &Value) {
    let (Some(lost), Some(causes)) = (row["lost_share"].as_f64(), row["causes"].as_array()) else { return };
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut summed: Vec<([String; 2], f64)> = Vec::new();
    for cause in causes {
        let (name, share) =
            ([word(&cause["kind"]), word(&cause["name"])], cause["share"].as_f64().unwrap_or(0.0) * lost);
        match summed.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += share,
            None => summed.push((name, share)),
        }
    }
    for ([kind, name], share) in summed {
        let scenario = ("scenario", word(&row["scenario"]));
        let labels = [("host", host.to_owned()), cpu.clone(), scenario, ("cause", kind), ("name", name)];
        samples.gauge("contend_lost", LOST, Some("ratio"), &labels, share);
    }
}

// SMT interference on the cores: how often a sibling was active, which share of the core it took, and how much slower
// code runs with the core shared.

const SHARED: &str = "Share of a CPU's time in which an SMT sibling used its core, in the last run";
const WIDTH_LOST: &str = "Share of its speed that throughput-bound code lost to the SMT sibling, in the last run";
const COST: &str = "Ratio of the time that code of one kind took while the core was shared to its time while \
                    exclusive, in the last run";

type Labels = Vec<(&'static str, String)>;

fn interference(samples: &mut Samples, host: &str, experiment: &str, rows: &[Value]) {
    for row in rows {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let labels: Labels = [("host", host.to_owned()), ("cpu", row["cpu"].to_string())].into();
        let of_run: Labels = [("experiment", experiment.to_owned()), ("scenario", word(&row["scenario"]))].into();
        let named = [labels.clone(), of_run].concat();
        let mut share = |name, help, value: &Value| {
            let value = value.as_f64();
            value.into_iter().for_each(|share| samples.gauge(name, help, Some("ratio"), &named, share));
        };
        match experiment {
            "core" => share("contend_core_shared", SHARED, &row["shared_share"]),
            "noise" | "load" => {
                share("contend_core_shared", SHARED, &row["core_shared_share"]);
                share("contend_core_width_lost", WIDTH_LOST, &row["width_lost_share"]);
            }
            _ => {}
        }
        if let ("core", Some(costs)) = (experiment, row["costs"].as_array()) {
            for cost in costs {
                let named = [labels.clone(), vec![("code", word(&cost["kind"]))]].concat();
                let ratio = cost["ratio"].as_f64();
                ratio
                    .into_iter()
                    .for_each(|ratio| samples.gauge("contend_core_cost", COST, Some("ratio"), &named, ratio));
            }
        }
    }
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
