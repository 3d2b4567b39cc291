//! `contend core` through its binary, and the SMT sibling in the records of the other experiments.

use crate::command::archive::{Archive, has_git};
use crate::command::stored::all;
use crate::command::{contend, record, results, shared};
use serde_json::{Value, json};

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

/// Returns a record of one CPU that began then, with these hours; a record without hours is from an older version.
fn night(measured: &Value, hours: Value, started: u64) -> String {
    let mut record = measured.clone();
    record["environment"]["started_unix_s"] = json!(started);
    record["results"].as_array_mut().unwrap().truncate(1);
    record["results"][0]["hours"] = hours;
    if record["results"][0]["hours"].is_null() {
        record["results"][0].as_object_mut().unwrap().remove("hours");
        let piece = |from_s: u64, share: f64| json!({"from_s": from_s, "shared_share": share});
        record["results"][0]["timeline"] = json!([piece(0, 1.0), piece(3_600, 0.0)]);
    }
    record.to_string() + "\n"
}

#[test]
fn hours_of_several_records_are_combined() {
    if !has_git() {
        return println!("skipped: needs git");
    }
    let mut archive = Archive::new();
    let measured = shared(EVERY_CPU);
    let (cpu, began) = (&results(measured)[0]["cpu"], measured["environment"]["started_unix_s"].as_u64().unwrap());
    let hours = results(measured)[0]["hours"].as_array().unwrap();
    if let Some(hour) = hours.first() {
        assert!([began / 3600 % 24, (began + 60) / 3600 % 24].contains(&hour["hour"].as_u64().unwrap()), "{hour}");
    }
    let mut night = |hours, started| archive.insert_bytes(&night(measured, hours, started));
    night(
        json!([{"hour": 22, "steps": 400, "seconds": 100.0, "shared_share": 0.5},
        {"hour": 3, "steps": 50, "seconds": 50.0, "shared_share": 0.0}]),
        0,
    );
    night(json!([{"hour": 22, "steps": 300, "seconds": 300.0, "shared_share": 0.25}]), 1_000_000_000);
    // A record of two hours from an older version without hours, begun at five past ten.
    night(Value::Null, 86_400 * 20_000 + 10 * 3_600 + 300);
    let found = archive.contend(&["history", "hours", "--format", "json"]).stdout;
    let found: Value = serde_json::from_slice(&found).unwrap();
    let text: Vec<_> =
        found.as_array().unwrap().iter().map(|of| (&of["cpu"], &of["hour"], &of["shared_share"])).collect();
    assert_eq!(
        text,
        [
            (cpu, &json!(3), &json!(0.0)),
            (cpu, &json!(10), &json!(1.0)),
            (cpu, &json!(11), &json!(0.0)),
            (cpu, &json!(22), &json!(0.3125))
        ]
    );
    let text = String::from_utf8(archive.contend(&["history", "hours"]).stdout).unwrap();
    assert!(text.contains("······") && text.contains("Maximum at 10:00") && text.contains("██"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// Runs before and after the topology of a core was probed are runs of the same machine.
#[test]
fn records_before_and_after_a_probe_are_of_one_machine() {
    if !has_git() {
        return println!("skipped: needs git");
    }
    let mut archive = Archive::new();
    let old = all().into_iter().find(|old| old.experiment() == "core").expect("there is one in tests/records");
    let before = old.record;
    let mut after = before.clone();
    after["environment"]["cpu"]["probed"] =
        json!({"probed_unix_s": 1_700_000_000, "pairs": [{"cpus": [0, 1], "share_a_core": false}]});
    after["environment"]["kernel"]["release"] = json!("another");
    let [before, after] = [before, after].map(|record| archive.insert_bytes(&(record.to_string() + "\n")));
    let text = archive.contend(&["compare", &before, &after, "--format", "json"]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("another") && !text.contains("probed"), "{text}");
}

#[test]
fn one_cpu_without_pairs_is_measured() {
    let cpu = instruments::cpus::allowed().unwrap().first().unwrap().to_string();
    let record = record(&["core", "--seconds", "0.3", "--cpus", &cpu, "--no-pairs"]);
    assert_eq!(results(&record).len(), 1);
    assert_eq!(results(&record)[0]["pairs"], serde_json::json!([]));
}

#[test]
fn text_has_a_line_for_each_cpu_and_bottleneck() {
    let output = contend(&["core", "--seconds", "0.5", "--quiet"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("SMT") && text.contains("bottleneck"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn ignoring_the_sibling_is_refused() {
    let output = contend(&["core", "--neighbour", "ignore"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--neighbour ignore"));
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
