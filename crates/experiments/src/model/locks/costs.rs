//! The costs of the model: from the flags, from a record, or default values.

use super::flags::Flags;
use harness::UsageError;
use manycore::Costs;
use record::{content, understand};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// The costs in a record of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelCosts {
    /// The record from which they were taken; `null` for the default values.
    pub file: Option<String>,
    #[serde(flatten)]
    pub costs: Costs,
}

/// The default values, of a virtual machine with two CPUs of an AMD EPYC. They are listed in the validation.
const REFERENCE: Costs = Costs {
    atomic_ns: 2.2,
    line_ns: 48.0,
    remote_line_ns: 144.0,
    syscall_ns: 165.0,
    wake_ns: 550.0,
    wake_latency_ns: 16_000.0,
    sleep_ns: 550.0,
    switch_ns: 980.0,
    slice_ns: 3e6,
};
/// The transfer between NUMA nodes, in transfers within one.
const REMOTE: f64 = 3.0;

impl ModelCosts {
    /// Takes the costs of the flags, then those of the record.
    pub fn of(flags: &Flags) -> anyhow::Result<Self> {
        let (file, recorded) = match &flags.costs {
            Some(path) => {
                let (file, costs) = read(path)?;
                (Some(file), costs)
            }
            None => (None, REFERENCE),
        };
        let or = |flag: Option<Duration>, other: f64| flag.map_or(other, |time| time.as_nanos() as f64);
        let line_ns = or(flags.line, recorded.line_ns);
        let costs = Costs {
            atomic_ns: or(flags.atomic, recorded.atomic_ns),
            line_ns,
            remote_line_ns: or(flags.remote_line, REMOTE * line_ns),
            syscall_ns: or(flags.syscall, recorded.syscall_ns),
            wake_ns: or(flags.wake, recorded.wake_ns),
            wake_latency_ns: or(flags.wake_latency, recorded.wake_latency_ns),
            sleep_ns: or(flags.sleep, recorded.sleep_ns),
            switch_ns: or(flags.switch, recorded.switch_ns),
            slice_ns: or(flags.slice, recorded.slice_ns).max(SHORTEST_SLICE_NS),
        };
        Ok(Self { file, costs })
    }

    /// Describes them in three lines.
    pub fn words(&self) -> String {
        let (time, costs) = (terminal::nanoseconds, self.costs);
        format!(
            "  atomic {}, line {}, between nodes {},\n  \
             system call {}, switch {}, wake {} and {} until it runs,\n  sleep {}, slice {}",
            time(costs.atomic_ns),
            time(costs.line_ns),
            time(costs.remote_line_ns),
            time(costs.syscall_ns),
            time(costs.switch_ns),
            time(costs.wake_ns),
            time(costs.wake_latency_ns),
            time(costs.sleep_ns),
            time(costs.slice_ns),
        )
    }
}

/// A slice of no length would let no thread ever run.
const SHORTEST_SLICE_NS: f64 = 1_000.0;

/// Reads the limits of a ring: a switch, a wake-up on the same CPU, one across CPUs, and a cache line.
fn read(path: &Path) -> anyhow::Result<(String, Costs)> {
    let (name, bytes) = content(path)?;
    let wrong = |problem: String| {
        UsageError(format!(
            "--costs {name}: {problem}; `contend ring --format json --output FILE` writes such a record"
        ))
    };
    let source = understand(&name, &bytes).map_err(|error| wrong(format!("{error:#}")))?;
    let rows = source.parts.iter().find(|(experiment, _)| experiment == "ring").map(|(_, rows)| rows);
    let rows = rows.ok_or_else(|| wrong(format!("the record is of {}", source.experiment)))?;
    let limit = |limit: &str| {
        let is_limit = |row: &&Value| row["contestant"] == limit && row["class"] == "limit";
        let ns = rows.iter().find(is_limit).and_then(|row| row["ns_per_hop"].as_f64());
        ns.filter(|ns| *ns > 0.0).ok_or_else(|| wrong(format!("the record has no limit {limit}")))
    };
    let syscall_ns = limit("system-call")?;
    let switch_ns = (limit("sched-yield-one-cpu")? - syscall_ns).max(0.0);
    // A hop on one CPU is a wake-up, the call that blocks, and a switch. The first two are not distinguished.
    let wake_ns = (limit("futex-one-cpu")? - switch_ns).max(0.0) / 2.0;
    let wake_latency_ns = (limit("futex-across")? - wake_ns).max(0.0);
    // A hop is a store that invalidates the copy of the other CPU, and a load that fetches the line.
    let line_ns = limit("cache-line-across")? / 2.0;
    Ok((
        name.clone(),
        Costs { line_ns, syscall_ns, wake_ns, wake_latency_ns, sleep_ns: wake_ns, switch_ns, ..REFERENCE },
    ))
}
