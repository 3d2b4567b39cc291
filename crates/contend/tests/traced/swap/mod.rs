//! `contend trace --swap`: a program of ours with other locks in its mutexes.

mod answers;
mod refused;
mod server;
mod some_mutexes;
mod watched;

use crate::programs::Traced;
use serde_json::Value;

fn row<'a>(traced: &'a Traced, lock: &str, metric: &str) -> &'a Value {
    let rows = traced.record["results"].as_array().unwrap();
    let found = rows.iter().find(|row| row["lock"] == lock && row["metric"] == metric);
    found.unwrap_or_else(|| panic!("no {metric} of {lock} in {rows:#?}"))
}

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
