//! `contend core` through its binary, and the SMT sibling in the records of the other experiments.

use crate::command::archive::{Archive, has_git};
use crate::command::{record, results, shared};
use serde_json::Value;

/// Every CPU and every pair of CPUs, for the shortest time that gives each of them a row.
const EVERY_CPU: &[&str] = &["core", "--seconds", "1"];

/// Returns whether the value is a measured share.
fn is_share(value: &Value) -> bool {
    value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share))
}

/// Returns whether the value is a number or an explicit null.
fn is_figure_or_null(value: &Value) -> bool {
    value.is_null() || value.as_f64().is_some_and(|figure| figure > 0.0)
}

#[test]
fn every_cpu_has_its_shares_stretches_and_costs() {
    let record = shared(EVERY_CPU);
    assert_eq!(record["experiment"], "core");
    let rows = results(record);
    // A CPU that other programs took for the whole second has no row.
    let cpus = record["parameters"]["cpus"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| cpus.contains(&row["cpu"])), "{rows:?}");
    for row in rows {
        assert!(row["steps"].as_u64().unwrap() > 0, "{row}");
        assert!(row["shared_share"].is_null() || is_share(&row["shared_share"]), "{row}");
        let ends = &row["shared_share_ci"];
        let around = |share: f64| ends[0].as_f64() <= Some(share) && Some(share) <= ends[1].as_f64();
        assert!(ends.is_null() || around(row["shared_share"].as_f64().unwrap()), "{row}");
        assert!(is_share(&row["neither_share"]), "{row}");
        assert!(row["agreement_share"].is_null() || is_share(&row["agreement_share"]), "{row}");
        for field in ["cost_width", "cost_latency", "best_ticks", "best_cycles", "frequency_ghz"] {
            assert!(is_figure_or_null(&row[field]), "{field} of {row}");
        }
        let kinds: Vec<&str> =
            row["costs"].as_array().unwrap().iter().map(|cost| cost["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds[0], "width", "{kinds:?}");
        assert!(kinds.contains(&"latency") && kinds.contains(&"store to load") && kinds.contains(&"branches"));
        let binned: u64 =
            row["stretches"]["histogram"].as_array().unwrap().iter().map(|bin| bin["count"].as_u64().unwrap()).sum();
        assert!(binned <= row["stretches"]["count"].as_u64().unwrap());
        assert!(row["memory"]["latency_p50_ns"].as_f64().unwrap() > 0.0, "{row}");
        if let Some(hour) = row["hours"].as_array().unwrap().first() {
            let began = record["environment"]["started_unix_s"].as_u64().unwrap();
            assert!([began / 3600 % 24, (began + 60) / 3600 % 24].contains(&hour["hour"].as_u64().unwrap()), "{hour}");
        }
    }
}

#[test]
fn both_cpus_of_a_pair_report_the_same_relation() {
    let record = shared(EVERY_CPU);
    let rows = results(record);
    for row in rows {
        for pair in row["pairs"].as_array().unwrap() {
            let other = rows.iter().find(|other| other["cpu"] == pair["cpu"]).expect("the other CPU has a row");
            let back = other["pairs"].as_array().unwrap().iter().find(|back| back["cpu"] == row["cpu"]).unwrap();
            assert_eq!((&pair["shares"], &pair["narrowing"]), (&back["shares"], &back["narrowing"]));
            // A core that shares with another is not probed at the same time.
            let groups = record["parameters"]["groups"].as_array().unwrap();
            let side_by_side = groups.iter().any(|group| {
                let group = group.as_array().unwrap();
                group.contains(&row["cpu"]) && group.contains(&pair["cpu"])
            });
            // Where the probe is undecided, the kernel's account counts.
            let shares = pair["shares"].as_bool().unwrap_or_else(|| {
                let of = |cpu: &Value| cpu.as_u64().unwrap() as usize;
                instruments::cpus::siblings(of(&row["cpu"])).contains(of(&pair["cpu"]))
            });
            assert_eq!(side_by_side, !shares, "{pair} {groups:?}");
        }
    }
}

/// Later runs know the result of the probe until the machine is rebooted.
#[test]
fn later_records_have_the_probed_topology() {
    let cpus = instruments::cpus::allowed().unwrap();
    if !has_git() || cpus.len() < 2 {
        return println!("skipped: needs git and two CPUs");
    }
    let archive = Archive::new();
    let read = |arguments: &[&str]| crate::command::read(&archive.contend(arguments).stdout);
    let before = read(&["latency", "--lock", "std", "--seconds", "0.2", "--format", "json"]);
    assert!(before["environment"]["cpu"]["probed"].is_null(), "nobody tried yet");
    let core = read(&["core", "--seconds", "1", "--format", "json"]);
    let probed = &core["environment"]["cpu"]["probed"];
    let (pair, row) = (&probed["pairs"][0], &results(&core)[0]);
    if row["pairs"][0]["shares"].is_null() {
        return println!("skipped: needs a core of which strangers take less");
    }
    // The first row is that of either CPU of the pair.
    let of_row = [&row["cpu"], &row["pairs"][0]["cpu"]];
    assert!(of_row == [&pair["cpus"][0], &pair["cpus"][1]] || of_row == [&pair["cpus"][1], &pair["cpus"][0]], "{core}");
    assert_eq!(pair["share_a_core"], row["pairs"][0]["shares"]);
    let spread = ["latency", "--lock", "std", "--placement", "spread", "--seconds", "0.2", "--format", "json"];
    assert_eq!(&read(&spread)["environment"]["cpu"]["probed"], probed);
    // A core with a second thread is a placement; one without is not.
    let core_cpus = ["latency", "--lock", "std", "--placement", "one-core", "--seconds", "0.2", "--format", "json"];
    let output = archive.contend(&core_cpus);
    let first = cpus.first().unwrap();
    let is_shared = instruments::cpus::siblings(first).iter().any(|cpu| cpu != first && cpus.contains(cpu))
        || results(&core)[0]["pairs"].as_array().unwrap().iter().any(|pair| pair["shares"] == true);
    assert_eq!(output.status.code(), Some(if is_shared { 0 } else { 2 }), "{output:?}");
    assert!(is_shared || String::from_utf8_lossy(&output.stderr).contains("contend core"), "{output:?}");
}

#[test]
fn one_cpu_without_pairs_is_measured() {
    let cpu = instruments::cpus::allowed().unwrap().first().unwrap().to_string();
    let record = record(&["core", "--seconds", "0.3", "--cpus", &cpu, "--no-pairs"]);
    assert_eq!(results(&record).len(), 1);
    assert_eq!(results(&record)[0]["pairs"], serde_json::json!([]));
}

/// Calls of all other experiments that record whether the core was shared.
const LOOKING: [&[&str]; 6] = [
    &["ring", "--contestant", "rust-fifo", "--placement", "pinned", "--no-memory", "--large", "0"],
    &["latency", "--lock", "std", "--threads", "1"],
    &["throughput", "--lock", "std", "--children", "1"],
    &["noise", "--scenario", "quiet"],
    // An idle-priority spinner may not get enough of the CPU to probe the core.
    &["load", "--priority", "0"],
    &["clock", "--longest", "1ms"],
];

#[test]
fn experiments_record_the_shared_share_of_their_cores() {
    for words in LOOKING {
        // A busy machine may leave a short run without one probe.
        let has_share = |seconds: &&str| {
            let record = record(&[words, &["--seconds", seconds]].concat());
            let has_share_or_null =
                |row: &Value| row["core_shared_share"].is_null() || is_share(&row["core_shared_share"]);
            assert!(results(&record).iter().all(has_share_or_null), "{record}");
            results(&record).iter().any(|row| is_share(&row["core_shared_share"]))
        };
        assert!(["0.8", "3", "12"].iter().any(has_share), "{words:?} had no probe in three runs");
    }
}

/// The thread that samples is read once a second, and fewer than four readings have no interval.
#[test]
fn shared_share_has_an_interval_unless_zero_or_one() {
    let noise = record(&["noise", "--scenario", "quiet", "--seconds", "6"]);
    for row in results(&noise) {
        let Some(share) = row["core_shared_share"].as_f64() else { continue };
        // A busy machine may have left it less than four readings.
        if row["span_s"].as_f64() < Some(5.0) {
            continue;
        }
        let ends = &row["core_shared_share_ci"];
        let is_known = share > 0.0 && share < 1.0;
        assert_eq!(ends.is_array(), is_known, "{row}");
        assert!(!is_known || ends[0].as_f64() < Some(share) && Some(share) < ends[1].as_f64(), "{row}");
    }
}

#[test]
fn without_probes_no_shared_share_is_recorded() {
    for words in LOOKING {
        let ignored = record(&[words, &["--seconds", "0.3", "--neighbour", "ignore"]].concat());
        assert!(results(&ignored).iter().all(|row| row["core_shared_share"].is_null()), "{ignored}");
    }
}
