//! `contend latency` through its binary.

use crate::command::{record, results, shared};
use serde_json::Value;

const FIELDS: &[&str] = &[
    "lock",
    "threads",
    "competitors",
    "placement",
    "thread",
    "operation",
    "count",
    "min_ns",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "p999_ns",
    "max_ns",
    "mean_ns",
    "p50_ci_ns",
    "p90_ci_ns",
    "p99_ci_ns",
    "p999_ci_ns",
    "spikes",
];
const SPIKE_FIELDS: &[&str] = &[
    "label",
    "share",
    "mean_ns",
    "median_ns",
    "from_ns",
    "to_ns",
    "echo_of",
    "delay_ns",
    "cause",
    "cause_share",
    "evidence_share",
];

/// Locks with and without system calls, uncontended and contended.
const LOCKS: &[&str] =
    &["latency", "--lock", "sysv,benaphore,std", "--threads", "1,2", "--seconds", "2", "--seed", "7"];

/// No lock, in an empty loop.
const NONE: &[&str] = &["latency", "--lock", "none", "--seconds", "0.5"];

/// Returns the row of an operation on an uncontended lock.
fn row<'a>(record: &'a Value, lock: &str, operation: &str) -> &'a Value {
    let is_meant = |row: &&Value| row["lock"] == lock && row["operation"] == operation && row["threads"] == 1;
    results(record).iter().find(is_meant).unwrap_or_else(|| panic!("no {operation} of {lock}"))
}

const QUANTILES: [&str; 6] = ["min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"];

fn interval(row: &Value, field: &str) -> Option<[f64; 2]> {
    let ends = row[field].as_array()?;
    Some([ends[0].as_f64().unwrap(), ends[1].as_f64().unwrap()])
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or_else(|| panic!("{field} is no number in {row}"))
}

#[test]
fn the_record_has_the_envelope_and_every_field() {
    let record = shared(LOCKS);
    assert_eq!(record["schema"], "contend/1");
    assert_eq!(record["experiment"], "latency");
    assert_eq!(record["environment"]["seed"], 7);
    assert!(record["environment"]["kernel"]["release"].is_string());
    assert_eq!(record["parameters"]["hold_us"], 6.1);
    assert!(
        record["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .all(|warning| warning["code"].is_string() && warning["remedy"].is_string())
    );
    // One thread and two, three operations each, of three locks.
    assert_eq!(results(record).len(), 3 * 9);
    for row in results(record) {
        FIELDS.iter().for_each(|field| assert!(row.get(field).is_some(), "{field} is missing"));
        for spike in row["spikes"].as_array().unwrap() {
            SPIKE_FIELDS.iter().for_each(|field| assert!(spike.get(field).is_some(), "{field} is missing"));
        }
    }
}

#[test]
fn quantiles_rise_and_histograms_are_complete() {
    for row in results(shared(LOCKS)) {
        let quantiles: Vec<f64> = QUANTILES.iter().filter_map(|field| row[field].as_f64()).collect();
        assert!(quantiles.windows(2).all(|pair| pair[0] <= pair[1]), "{quantiles:?}");
        if let (Some(median), Some(interval)) = (row["p50_ns"].as_f64(), interval(row, "p50_ci_ns")) {
            assert!(interval[0] <= median && median <= interval[1], "{row}");
        }
        let hits: u64 = row["histogram"].as_array().unwrap().iter().map(|bin| bin["count"].as_u64().unwrap()).sum();
        assert_eq!(hits, row["count"].as_u64().unwrap());
    }
}

#[test]
fn values_and_intervals_respect_the_resolution_of_the_clock() {
    let record = record(&["latency", "--lock", "none,benaphore,adaptive", "--hold", "0", "--seconds", "0.6"]);
    for row in results(&record) {
        let (accuracy, step) = (number(row, "accuracy_ns"), number(row, "resolution_ns"));
        let least = accuracy.max(step);
        for field in QUANTILES {
            assert!(row[field].as_f64().is_none_or(|figure| figure >= least), "{field} of {row}");
        }
        for field in ["mean_ns", "undisturbed_mean_ns"] {
            assert!(row[field].as_f64().is_none_or(|figure| figure >= accuracy), "{field} of {row}");
        }
        for spike in row["spikes"].as_array().unwrap() {
            for field in ["mean_ns", "median_ns", "median_with_evidence_ns"] {
                assert!(spike[field].as_f64().is_none_or(|figure| figure >= least), "{field} of {spike}");
            }
        }
        for field in ["p50_ci_ns", "p90_ci_ns", "p99_ci_ns", "p999_ci_ns"] {
            let width = interval(row, field).map(|ends| ends[1] - ends[0]);
            assert!(width.is_none_or(|width| width >= 1.999 * step), "{field} of {row}");
        }
    }
}

/// The hold time is correct however fast the core is in this run, and whatever the calibration was.
///
/// A core whose frequency rises between the two holds it for a shorter time, by the ratio of its frequencies.
#[test]
fn a_lock_is_held_for_the_requested_time() {
    // Other programs may take the CPU for most of a run, but not of the median of three.
    let mut shares: Vec<f64> = (0..3).map(|_| share_held()).collect();
    shares.sort_by(f64::total_cmp);
    assert!((0.7..1.4).contains(&shares[1]), "{shares:?}");
}

/// Returns the measured hold time as a share of the requested one.
fn share_held() -> f64 {
    let record = record(&["latency", "--lock", "std", "--hold", "50us", "--seconds", "0.6"]);
    let trip = row(&record, "std", "round_trip");
    assert!(number(trip, "p50_ns") >= 0.9 * 1e3 * number(trip, "held_us"), "{trip}");
    number(trip, "held_us") / number(trip, "hold_us")
}

#[test]
fn spikes_contain_nearly_all_iterations() {
    for row in results(shared(LOCKS)).iter().filter(|row| row["operation"] != "round_trip") {
        let shares: f64 = row["spikes"].as_array().unwrap().iter().map(|spike| number(spike, "share")).sum();
        assert!((0.99..=1.000_001).contains(&shares), "{shares} in {}", row["operation"]);
    }
}

/// A system call takes ten times as long as an atomic addition, or more.
#[test]
fn a_benaphore_is_faster_than_the_semaphore_under_it() {
    let record = shared(LOCKS);
    let pair = |lock| number(row(record, lock, "lock"), "bare_pair_ns");
    assert!(3.0 * pair("benaphore") < pair("sysv"));
    // A fence between two system calls changes little.
    let fenced = number(row(record, "sysv", "lock"), "fenced_pair_ns");
    assert!((0.6..1.7).contains(&(fenced / pair("sysv"))), "{fenced}");
}

/// Sixteen multiplications, which wait for each other, are compared with the same number in a chain that is as long as
/// its measurement.
#[test]
fn a_known_time_is_read_within_the_stated_accuracy() {
    let lock = row(shared(NONE), "none", "lock");
    let (read, known) = (number(lock, "control_ns"), number(lock, "control_known_ns"));
    // With the timestamps in it, or without the lock, it would be off by more.
    assert!((read - known).abs() < 0.5 * number(lock, "clock_cost_ns").min(known), "{lock}");
    assert!((read - known).abs() <= 1.000_001 * number(lock, "accuracy_ns"), "{lock}");
}

/// No lock takes no time, so its result is the error of subtracting the cost of recording.
#[test]
fn no_lock_reads_as_zero_within_the_resolution() {
    let lock = row(shared(NONE), "none", "lock");
    // Half a clock read: far more than the error of the subtraction, far less than the subtracted cost.
    let left = 2.0 * number(lock, "resolution_ns") + 0.5 * number(lock, "clock_cost_ns");
    assert!(lock["p50_ns"].as_f64().is_none_or(|median| median <= left), "{lock}");
    assert!(number(lock, "residue_ns").abs() <= left, "{lock}");
}

#[test]
fn seed_determines_the_order_of_the_cells() {
    let order = |seed| {
        let arguments = [
            "latency",
            "--lock",
            "std,none",
            "--threads",
            "1,2",
            "--competitors",
            "0,1",
            "--seconds",
            "0.2",
            "--seed",
            seed,
        ];
        // Later rounds depend on which cells are still open; the first depends only on the seed.
        record(&arguments)["parameters"]["order"][0].clone()
    };
    assert_eq!(order("3"), order("3"));
    // Eight cells have 40,320 orders.
    assert_ne!(order("3"), order("4"));
}

#[test]
fn lock_all_measures_every_lock() {
    let names = ["sysv", "posix", "benaphore", "benaphore-posix", "pthread", "pthread-adaptive", "std", "parking_lot"];
    // On a busy machine a short run has no iteration of some locks.
    let missing = |seconds: &'static str| {
        let record = record(&["latency", "--lock", "all", "--hold", "500ns", "--seconds", seconds]);
        let is_measured = |name: &&str| {
            let is_row = |row: &&Value| row["lock"] == **name && row["operation"] == "lock";
            results(&record).iter().find(is_row).is_some_and(|row| number(row, "count") > 0.0)
        };
        names.into_iter().filter(|name| !is_measured(name)).collect::<Vec<&str>>()
    };
    let mut last = Vec::new();
    let is_whole = |seconds: &&'static str| {
        last = missing(seconds);
        last.is_empty()
    };
    assert!(["4", "16", "60"].iter().any(is_whole), "not measured: {last:?}");
}

#[test]
fn list_of_cpus_assigns_them_in_order() {
    let cpus: Vec<usize> = instruments::cpus::allowed().unwrap().iter().take(2).collect();
    let list = cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let record = record(&["latency", "--lock", "std", "--threads", "3", "--placement", &list, "--seconds", "0.4"]);
    for row in results(&record) {
        let thread = row["thread"].as_u64().unwrap() as usize;
        assert_eq!(row["cpu"], cpus[thread % cpus.len()], "{row}");
    }
}

/// A single thread has its lock for itself: most iterations are on the fast path, and are attributed to it.
#[test]
fn fast_path_of_a_single_thread_is_uncontended() {
    // If other programs take the CPUs, a run may have no window with kernel events, or too few.
    let longer = ["4", "16"].map(|seconds| ["latency", "--lock", "std", "--threads", "1", "--seconds", seconds]);
    let records = std::iter::once(LOCKS).chain(longer.iter().map(|call| &call[..])).map(shared);
    let mut last = None;
    for record in records {
        let row = row(record, "std", "lock");
        if row["evidence"] != "cpu_record" && row["evidence"] != "thread_record" {
            println!("skipped: needs perf events");
            return;
        }
        let largest = &row["spikes"][0];
        if number(row, "witnessed_slices") >= 1.0
            && largest["cause"] == "uncontended"
            && number(largest, "evidence_share") > 0.5
        {
            return;
        }
        last = Some(row);
    }
    panic!("not attributed in three runs: {last:?}");
}

/// Two threads on one CPU: the thread that does not get the lock blocks.
#[test]
fn ping_pong_spike_is_attributed_to_the_holder() {
    // If other programs take the CPU, a short run may have no window in which both threads run.
    let is_named = |seconds: &&str| {
        let record = record(&["latency", "--lock", "sysv", "--threads", "2", "--seconds", seconds]);
        let locking =
            results(&record).iter().filter(|row| row["operation"] == "lock" && row["evidence"] == "cpu_record");
        let spikes: Vec<&Value> = locking.flat_map(|row| row["spikes"].as_array().unwrap()).collect();
        let has_waits = spikes.iter().any(|spike| spike["median_ns"].as_f64().is_some_and(|median| median >= 2_000.0));
        if !has_waits {
            println!("skipped: needs CAP_PERFMON, and a CPU on which two threads met");
        }
        !has_waits || spikes.iter().any(|spike| spike["cause"] == "waited for the holder")
    };
    assert!(["3", "12", "48"].iter().any(is_named), "no spike has the cause");
}

#[test]
fn without_evidence_every_cause_is_unexplained() {
    let record = record(&["latency", "--lock", "std", "--seconds", "0.3", "--evidence", "none"]);
    for row in results(&record) {
        assert_eq!(row["witnessed_slices"], 0);
        for spike in row["spikes"].as_array().unwrap() {
            assert_eq!(spike["cause"], "unexplained");
            assert!(spike["evidence_share"].is_null());
        }
    }
}
