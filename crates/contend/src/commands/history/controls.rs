//! The false-alarm rate of `contend ab`: how often its control, the first command against itself, was shown to differ.

use super::selection::Selection;
use crate::output::Destination;
use archive::{Catalogue, Entry};
use harness::{Outcome, UsageError};
use instruments::statistics::{Interval, proportion};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use terminal::{Page, percent};

const EXPERIMENT: &str = "ab";
const CONFIDENCE: f64 = 0.95;

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

pub fn run(selection: &Selection, catalogue: Catalogue, destination: Destination) -> anyhow::Result<Outcome> {
    let mut counts = BTreeMap::new();
    selection.each(EXPERIMENT, catalogue, |entry, record| add(&mut counts, entry, record))?;
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
