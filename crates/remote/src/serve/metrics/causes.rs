//! The lost CPU time by cause, and the rest that other programs' load left.

use super::samples::Samples;
use serde_json::Value;

const LOST: &str = "Share of a CPU's time that a running thread lost to a cause, in the last run";
const LOAD: &str = "Share of a CPU's time that an idle-priority spinner did not get, in the last run";
const TAKEN: &str = "Share of a CPU's time that the idle-priority spinner took from other threads, in the last run";

pub fn add(samples: &mut Samples, host: &str, experiment: &str, rows: &[Value]) {
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
