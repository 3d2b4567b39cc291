//! `contend core` through its binary, and the neighbour in the records of the others.

mod command;

use command::{contend, record, results};
use serde_json::Value;

/// A share that was measured.
fn is_share(value: &Value) -> bool {
    value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share))
}

/// Whether a figure is there or honestly is not.
fn is_figure_or_null(value: &Value) -> bool {
    value.is_null() || value.as_f64().is_some_and(|figure| figure > 0.0)
}

#[test]
fn every_cpu_has_its_shares_stretches_and_costs() {
    let record = record(&["core", "--seconds", "1"]);
    assert_eq!(record["experiment"], "core");
    let rows = results(&record);
    assert_eq!(rows.len(), record["parameters"]["cpus"].as_array().unwrap().len());
    for row in rows {
        assert!(row["steps"].as_u64().unwrap() > 100, "{row}");
        assert!(row["shared_share"].is_null() || is_share(&row["shared_share"]), "{row}");
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
    }
}

#[test]
fn pairs_are_named_by_both_cpus_alike() {
    let record = record(&["core", "--seconds", "1"]);
    let rows = results(&record);
    for row in rows {
        for pair in row["pairs"].as_array().unwrap() {
            let other = rows.iter().find(|other| other["cpu"] == pair["cpu"]).expect("the other CPU has a row");
            let back = other["pairs"].as_array().unwrap().iter().find(|back| back["cpu"] == row["cpu"]).unwrap();
            assert_eq!((&pair["shares"], &pair["narrowing"]), (&back["shares"], &back["narrowing"]));
            // A core that shares with another is not probed beside it.
            let groups = record["parameters"]["groups"].as_array().unwrap();
            let side_by_side = groups.iter().any(|group| {
                let group = group.as_array().unwrap();
                group.contains(&row["cpu"]) && group.contains(&pair["cpu"])
            });
            assert_eq!(side_by_side, pair["shares"] == false, "{pair} {groups:?}");
        }
    }
}

#[test]
fn one_cpu_and_no_pairs_are_measured_as_far_as_that_goes() {
    let cpu = instruments::cpus::allowed().unwrap().first().unwrap().to_string();
    let record = record(&["core", "--seconds", "0.3", "--cpus", &cpu, "--no-pairs"]);
    assert_eq!(results(&record).len(), 1);
    assert_eq!(results(&record)[0]["pairs"], serde_json::json!([]));
}

#[test]
fn the_text_says_how_often_and_what_it_costs() {
    let output = contend(&["core", "--seconds", "0.5", "--quiet"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("the core of CPU") && text.contains("code limited by"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn ignoring_who_is_there_leaves_nothing_to_measure() {
    let output = contend(&["core", "--neighbour", "ignore"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--neighbour ignore"));
}

#[test]
fn who_looks_says_how_often_and_who_does_not_says_nothing() {
    let ring = ["ring", "--contestant", "rust-fifo", "--placement", "pinned", "--no-memory", "--large", "0"];
    let latency = ["latency", "--lock", "std", "--threads", "1"];
    let throughput = ["throughput", "--lock", "std", "--children", "1"];
    // One that takes only what nobody wants may not get enough to look.
    let (noise, load) = (["noise", "--scenario", "quiet"], ["load", "--priority", "0"]);
    for words in [&ring[..], &latency, &throughput, &noise, &load] {
        let looked = record(&[words, &["--seconds", "0.8"]].concat());
        let told = |row: &Value| row["core_shared_share"].is_null() || is_share(&row["core_shared_share"]);
        assert!(results(&looked).iter().all(told), "{looked}");
        assert!(results(&looked).iter().any(|row| is_share(&row["core_shared_share"])), "nobody looked: {looked}");
        let ignored = record(&[words, &["--seconds", "0.3", "--neighbour", "ignore"]].concat());
        assert!(results(&ignored).iter().all(|row| row["core_shared_share"].is_null()), "{ignored}");
    }
}
