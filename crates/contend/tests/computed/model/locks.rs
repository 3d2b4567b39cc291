//! `contend model locks`: locks on modelled cores.

use super::{number, refused};
use crate::command::{contend, record, results};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Returns a record with a fixed seed, unless the arguments have another one: the tests must not depend on a draw.
fn model(arguments: &[&str]) -> Value {
    let seed: &[&str] = if arguments.contains(&"--seed") { &[] } else { &["--seed", "1"] };
    record(&[&["model", "locks"], arguments, seed].concat())
}

/// Returns the row of a lock on this many cores.
fn row<'a>(record: &'a Value, lock: &str, cores: u64) -> &'a Value {
    let is_wanted = |row: &&Value| row["lock"] == lock && row["cores"] == cores;
    results(record).iter().find(is_wanted).unwrap_or_else(|| panic!("no row of {lock} on {cores}"))
}

fn modelled(record: &Value, lock: &str, cores: u64) -> f64 {
    number(row(record, lock, cores), "modelled_per_s")
}

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records").join(name)
}

/// Returns a directory with a record of `contend throughput` of these rows.
fn throughput(rows: &[Value]) -> tempfile::TempDir {
    let text = std::fs::read_to_string(recorded("throughput.json")).unwrap();
    let mut record: Value = serde_json::from_str(&text).unwrap();
    record["results"] = rows.into();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("measured.json"), record.to_string()).unwrap();
    folder
}

/// Returns a row of `contend throughput` with an interval of 5 % on both sides.
fn measured(lock: &str, children: u64, per_s: f64) -> Value {
    let text = std::fs::read_to_string(recorded("throughput.json")).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    let mut row = results(&record)[0].clone();
    let fields = json!({
        "lock": lock, "children": children, "nonhold_us": 0.0, "hold_us": 1.0,
        "throughput_per_s": per_s, "throughput_ci": [per_s * 0.95, per_s * 1.05],
    });
    row.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    row
}

#[test]
fn model_of_locks_is_reproducible_by_seed() {
    let run = |seed: &str| model(&["--cores", "4", "--per-core", "2", "--run", "1ms", "--seed", seed]);
    let first = run("7");
    assert_eq!(first["results"], run("7")["results"]);
    assert_ne!(first["results"], run("8")["results"]);
}

#[test]
fn one_core_does_the_work_without_waiting() {
    let record = model(&["--cores", "1", "--nonhold", "2us", "--hold", "500ns", "--run", "5ms"]);
    for row in results(&record) {
        // 2.5 µs of work, and at most some atomic operations.
        let per_s = number(row, "modelled_per_s");
        assert!((385_000.0..405_000.0).contains(&per_s), "{row}");
        assert!(number(row, "modelled_wait_max_ns") < 1_000.0, "{row}");
    }
}

#[test]
fn queue_locks_scale_where_spinning_on_one_word_collapses() {
    let record = model(&["--lock", "ttas,ticket,mcs,clh,reciprocating", "--cores", "64", "--run", "1ms"]);
    for lock in ["mcs", "clh", "reciprocating"] {
        assert!(modelled(&record, lock, 64) > 4.0 * modelled(&record, "ttas", 64), "{lock}");
        assert!(modelled(&record, lock, 64) > 4.0 * modelled(&record, "ticket", 64), "{lock}");
    }
    assert!(number(row(&record, "mcs", 64), "modelled_cov") < 0.05);
}

#[test]
fn locks_without_blocking_collapse_with_more_threads_than_cores() {
    let run = |per_core| {
        let lock = "mcs,adaptive";
        model(&["--lock", lock, "--cores", "2", "--per-core", per_core, "--hold", "1us", "--run", "10ms"])
    };
    let (one, four) = (run("1"), run("4"));
    let kept = |lock| modelled(&four, lock, 2) / modelled(&one, lock, 2);
    assert!(kept("mcs") < 0.3 && kept("adaptive") > 0.8);
}

#[test]
fn numa_aware_lock_gains_only_with_several_nodes() {
    let run = |nodes| {
        let arguments = ["--lock", "mcs,cna", "--cores", "32", "--touch", "4", "--run", "1ms", "--nodes", nodes];
        let record = model(&arguments);
        modelled(&record, "cna", 32) / modelled(&record, "mcs", 32)
    };
    let (one, four) = (run("1"), run("4"));
    assert!((0.9..1.1).contains(&one) && four > 1.3, "{one} {four}");
}

#[test]
fn comparison_states_the_error_and_the_order() {
    let rows = [measured("mcs", 2, 800_000.0), measured("mcs", 4, 40_000.0), measured("adaptive", 4, 900_000.0)];
    let mut shared = measured("ticket", 2, 1e6);
    shared["processes"] = true.into();
    let folder = throughput(&[&rows[..], &[shared, measured("sysv", 2, 1e5)]].concat());
    let path = folder.path().join("measured.json");
    let record = model(&["--against", path.to_str().unwrap(), "--run", "10ms"]);
    let agreement = &record["parameters"]["agreement"];
    assert_eq!((number(agreement, "configurations"), number(agreement, "ordered_pairs")), (3.0, 1.0));
    assert_eq!(number(agreement, "same_order"), 1.0);
    let errors: Vec<f64> = results(&record)
        .iter()
        .map(|row| number(row, "modelled_per_s") / number(&row["measured"], "throughput_per_s"))
        .map(|ratio| ratio.max(1.0 / ratio))
        .collect();
    assert_eq!(number(agreement, "worst_error_ratio"), errors.iter().copied().fold(0.0, f64::max));
    assert!(record["warnings"].to_string().contains("2 configurations of the record"), "{}", record["warnings"]);
}

#[test]
fn costs_come_from_a_record_and_flags_override_them() {
    let ring = recorded("ring.json");
    let arguments = ["--cores", "1", "--run", "1ms", "--switch", "5us", "--costs", ring.to_str().unwrap()];
    let record = model(&arguments);
    let costs = &record["parameters"]["costs"];
    let limit = |name: &str| {
        let ring: Value = serde_json::from_str(&std::fs::read_to_string(&ring).unwrap()).unwrap();
        number(results(&ring).iter().find(|row| row["contestant"] == name).unwrap(), "ns_per_hop")
    };
    assert_eq!(number(costs, "syscall_ns"), limit("system-call"));
    assert_eq!(number(costs, "line_ns"), limit("cache-line-across") / 2.0);
    assert_eq!(number(costs, "switch_ns"), 5_000.0);
    assert_eq!(number(costs, "remote_line_ns"), 3.0 * number(costs, "line_ns"));
}

#[test]
fn costs_of_a_single_repetition_are_refused() {
    let mut ring: Value = serde_json::from_str(&std::fs::read_to_string(recorded("ring.json")).unwrap()).unwrap();
    let rows = ring["results"].as_array_mut().unwrap();
    rows.iter_mut().find(|row| row["contestant"] == "cache-line-across").unwrap()["repeats"] = 1.into();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ring.json");
    std::fs::write(&file, ring.to_string()).unwrap();
    let (status, stderr) = refused(&["model", "locks", "--costs", file.to_str().unwrap()]);
    assert!(status == 2 && stderr.contains("cache-line-across") && stderr.contains("--seconds"), "{stderr}");
}

#[test]
fn wrong_input_of_the_lock_model_names_the_remedy() {
    let latency = recorded("latency.json");
    let latency = latency.to_str().unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--cores", "257"], &["--cores", "from 1 to 256"]),
        (&["--lock", "sysv"], &["--lock", "sysv", "reciprocating"]),
        (&["--run", "1us"], &["--run", "from 1ms to 10s"]),
        (&["--costs", latency], &["--costs", "the record is of latency", "contend ring"]),
        (&["--against", latency], &["--against", "the record is of latency", "contend throughput"]),
        (&["--against", latency, "--cores", "4"], &["--cores", "cannot be used with"]),
    ];
    for (arguments, expected) in cases {
        let (status, stderr) = refused(&[&["model", "locks"], *arguments].concat());
        assert_eq!(status, 2, "{arguments:?}: {stderr}");
        expected.iter().for_each(|word| assert!(stderr.contains(word), "{arguments:?} should say {word:?}:\n{stderr}"));
    }
}

#[test]
fn page_of_the_lock_model_never_reads_as_a_measurement() {
    let output = contend(&["model", "locks", "--cores", "1,8", "--run", "1ms", "--quiet"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("Modelled, not measured"), "{text}");
    assert!(text.contains("\nKnown error: a factor of"), "{text}");
    assert!(text.contains("modelled/s") && !text.contains("loops/s") && text.contains("Assumed"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80 && line == line.trim_end()), "{text}");
}

#[test]
fn malthusian_beyond_one_thread_per_core_is_left_out() {
    let lock = ["--lock", "malthusian,mcs", "--cores", "2", "--run", "1ms"];
    let record = model(&[&lock[..], &["--per-core", "1,2"]].concat());
    let threads = |lock: &str| {
        let rows = results(&record).iter().filter(|row| row["lock"] == lock);
        rows.map(|row| number(row, "threads")).collect::<Vec<f64>>()
    };
    assert_eq!((threads("malthusian"), threads("mcs")), (vec![2.0], vec![2.0, 4.0]));
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("malthusian with more threads than cores (1 configuration)"), "{warnings}");
    let (status, stderr) = refused(&["model", "locks", "--lock", "malthusian", "--per-core", "2"]);
    assert!(status == 2 && stderr.contains("no configuration remains"), "{stderr}");
}
