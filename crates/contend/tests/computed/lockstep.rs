//! Records of a job on MPI through the binary: shown, archived unchanged, and used as traces for the model.

use crate::command::archive::{Archive, has_git};
use crate::command::contend;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns a job of two ranks on two CPUs, with injected interruptions.
fn job() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records/lockstep.json")
}

fn stdout_of(arguments: &[&str]) -> String {
    let output = contend(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn model(more: &[&str]) -> Vec<Value> {
    let job = job();
    let arguments =
        [&["model", "step", "--ranks", job.to_str().unwrap(), "--format", "json", "--no-keep", "--quiet"], more];
    let record: Value = serde_json::from_str(&stdout_of(&arguments.concat())).unwrap();
    record["results"].as_array().unwrap().clone()
}

#[test]
fn record_of_a_job_keeps_its_content_and_origin() {
    let job = job();
    let again: Value =
        serde_json::from_str(&stdout_of(&["lockstep", job.to_str().unwrap(), "--format", "json", "--no-keep"]))
            .unwrap();
    let mut written: Value = serde_json::from_str(&fs::read_to_string(job).unwrap()).unwrap();
    // The record is older than these fields, so they are unknown.
    for field in ["partitioned_cpus", "callback_free_cpus", "unbound_worker_cpus", "idle_driver", "lacking_options"] {
        written["environment"]["kernel"][field] = Value::Null;
    }
    for field in ["environment", "parameters", "results", "warnings"] {
        assert_eq!(again[field], written[field], "{field}");
    }
}

#[test]
fn record_of_a_job_is_archived_like_any_other() {
    if !has_git() {
        return;
    }
    let archive = Archive::new();
    assert!(archive.contend(&["lockstep", job().to_str().unwrap(), "--quiet"]).status.success());
    let listed = archive.contend(&["history", "list", "--experiment", "lockstep", "--format", "csv"]);
    assert_eq!(String::from_utf8(listed.stdout).unwrap().lines().count(), 2);
}

#[test]
fn invalid_record_of_a_job_is_refused_with_the_reason() {
    let noise = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records/noise.json");
    let noise = noise.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.json");
    let whole = fs::read(job()).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let newer = folder.path().join("newer.json");
    fs::write(&newer, String::from_utf8(whole).unwrap().replacen("contend/1", "contend/2", 1)).unwrap();
    for (arguments, wanted) in [
        (vec!["lockstep", noise], "its experiment is noise"),
        (vec!["lockstep", cut.to_str().unwrap()], "not a record of `lockstep`"),
        (vec!["lockstep", newer.to_str().unwrap()], "its schema is contend/2"),
        (vec!["lockstep", "/nowhere.json"], "cannot read /nowhere.json"),
        (vec!["model", "step", "--ranks", noise], "the record is of noise"),
        (vec!["model", "step", "--ranks", noise, "--trace", "x"], "cannot be used with"),
    ] {
        let output = contend(&[&arguments[..], &["--no-keep"]].concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && stderr.contains(wanted), "{arguments:?}: {stderr}");
    }
}

#[test]
fn model_covers_one_rank_to_ten_million_nodes() {
    let rows = model(&["--step", "1ms", "--nodes", "1,2,4,1k,10M", "--extrapolate"]);
    let slowdowns: Vec<f64> = rows.iter().map(|row| row["slowdown"].as_f64().unwrap()).collect();
    assert!(rows.iter().all(|row| row["method"] == "ranks"));
    assert!(slowdowns.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9) && slowdowns[0] > 1.0, "{slowdowns:?}");
    let last = &rows[rows.len() - 1];
    let ends = [&last["slowdown_ci"][0], &last["slowdown_ci"][1]].map(|end| end.as_f64().unwrap());
    assert!(ends[0] <= slowdowns[4] && slowdowns[4] <= ends[1], "{last}");
    // More nodes than the traces support, which is reported.
    assert!(last["supported_nodes"].as_u64().unwrap() < 10_000_000, "{last}");
}

#[test]
fn unsupported_results_are_refused_unless_requested() {
    let job = job();
    let output = contend(&["model", "step", "--ranks", job.to_str().unwrap(), "--nodes", "10M", "--no-keep"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && stderr.contains("allow it with --extrapolate"), "{stderr}");
    assert!(model(&[]).iter().all(|row| row["nodes"].as_u64() <= row["supported_nodes"].as_u64()));
}
