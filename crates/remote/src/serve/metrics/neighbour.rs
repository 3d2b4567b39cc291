//! SMT interference on the cores: how often a sibling was active, which share of the core it took, and how much slower
//! code runs with the core shared.

use super::samples::Samples;
use serde_json::Value;

const SHARED: &str = "Share of a CPU's time in which an SMT sibling used its core, in the last run";
const LOST: &str = "Share of its speed that throughput-bound code lost to the SMT sibling, in the last run";
const COST: &str = "Ratio of the time that code of one kind took while the core was shared to its time while \
                    exclusive, in the last run";

type Labels = Vec<(&'static str, String)>;

pub fn add(samples: &mut Samples, host: &str, experiment: &str, rows: &[Value]) {
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
                share("contend_core_width_lost", LOST, &row["width_lost_share"]);
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
