//! What a page says of each experiment: a file each, a line each in [`section`].

mod clock;
mod findings;
mod frames;
mod latency;
mod load;
mod noise;
mod ring;
mod step;
mod then_and_now;
mod throughput;

use super::figure::Section;
use crate::reading::typed;
use serde_json::Value;

/// The section of one experiment's rows.
///
/// # Errors
/// An experiment that this program does not know, or a row that is not as this experiment writes it.
pub fn section(experiment: &str, rows: &[Value]) -> anyhow::Result<Section> {
    match experiment {
        "clock" => Ok(clock::section(&typed(rows)?)),
        "latency" => Ok(latency::section(&typed(rows)?)),
        "throughput" => Ok(throughput::section(&typed(rows)?)),
        "noise" => Ok(noise::section(&typed(rows)?)),
        "load" => Ok(load::section(&typed(rows)?)),
        "ring" => Ok(ring::section(&typed(rows)?)),
        "model frames" => Ok(frames::section(&typed(rows)?)),
        "model step" => Ok(step::section(&typed(rows)?)),
        "findings" => Ok(findings::section(&typed(rows)?)),
        "then_and_now" => Ok(then_and_now::section(&typed(rows)?)),
        other => anyhow::bail!("its experiment {other:?} is not known to this contend"),
    }
}

/// The different values, in order of appearance.
fn distinct<R, K: PartialEq>(rows: &[R], key: impl Fn(&R) -> K) -> Vec<K> {
    let mut found = Vec::new();
    for row in rows {
        let value = key(row);
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// `1 thread`, `2 threads`.
fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
