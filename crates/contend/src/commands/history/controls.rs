//! The false-alarm rate of `contend ab`: how often its control, the first command against itself, was shown to differ.

use super::list::Filter;
use crate::output::Destination;
use archive::{Catalogue, Entry};
use clap::Args;
use harness::{Outcome, UsageError};
use instruments::statistics::{Interval, proportion};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use terminal::{Page, percent};

const EXPERIMENT: &str = "ab";
const CONFIDENCE: f64 = 0.95;

#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Only records of this machine
    #[arg(long, value_name = "NAME")]
    host: Option<String>,

    /// Only records started since WHEN: a day (2026-11-21, UTC), or a time before now (12h, 7d, 4w)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
}

/// The controls of a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Controls {
    host: String,
    /// The comparisons with a control.
    controls: u64,
    /// Those in which it differed by at least one metric.
    differed: u64,
    false_alarm_share: f64,
    false_alarm_share_ci: Option<Interval>,
}

pub fn run(flags: &Flags, catalogue: Catalogue, destination: Destination) -> anyhow::Result<Outcome> {
    let experiment = Some(EXPERIMENT.to_owned());
    let filter = Filter { experiment, host: flags.host.clone(), since: flags.since.clone() };
    let entries = filter.of(catalogue.entries)?;
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let mut counts = BTreeMap::new();
    catalogue.archive.each(&ids, |place, found| {
        let record = found.ok().and_then(|(content, _)| serde_json::from_slice::<Value>(&content).ok());
        record.into_iter().for_each(|record| add(&mut counts, &entries[place], &record));
    })?;
    let machines: Vec<Controls> = counts.into_iter().map(of_machine).collect();
    if machines.is_empty() {
        let fault =
            "no record with a control in the archive; `contend ab --control OLD NEW` compares OLD with itself, too";
        return Err(UsageError(fault.into()).into());
    }
    destination.present(&machines, &machines, |page| text(&machines, page))?;
    Ok(Outcome::Done)
}

/// Counts the record, if it had a control: its machine's controls, and those that differed.
fn add(counts: &mut BTreeMap<String, (u64, u64)>, entry: &Entry, record: &Value) {
    let Some(differs) = record["parameters"]["control_differs"].as_bool() else { return };
    let (controls, differed) = counts.entry(entry.summary.host.clone()).or_default();
    *controls += 1;
    *differed += u64::from(differs);
}

fn of_machine((host, (controls, differed)): (String, (u64, u64))) -> Controls {
    let false_alarm_share_ci = proportion::interval(differed, controls, CONFIDENCE);
    Controls { host, controls, differed, false_alarm_share: differed as f64 / controls as f64, false_alarm_share_ci }
}

fn text(machines: &[Controls], page: &Page) -> String {
    let line = |machine: &Controls| {
        let ends = |ends: Interval| format!(" ({}–{})", percent(ends.low), percent(ends.high));
        let interval = machine.false_alarm_share_ci.map_or_else(String::new, ends);
        let rate = format!("{}{interval}", percent(machine.false_alarm_share));
        vec![machine.host.clone(), machine.controls.to_string(), machine.differed.to_string(), rate]
    };
    let table =
        terminal::table(&["machine", "controls", "differed", "false alarms (95 % CI)"], machines.iter().map(line));
    let table: String = table.lines().map(|line| page.cut(line) + "\n").collect();
    let words =
        "A control is the first command of `contend ab` compared with itself. By design, at most 1 in 20 differ.";
    format!("{table}\n{}", terminal::wrapped("", "", words, page))
}
