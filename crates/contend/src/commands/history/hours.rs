//! The hours of the day in which cores were shared, over all records of `contend core`.

use super::selection::Selection;
use crate::output::Destination;
use archive::{Catalogue, Entry};
use harness::{Outcome, UsageError};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use terminal::{Page, percent};

const EXPERIMENT: &str = "core";
const HOUR_S: u64 = 3600;

/// A CPU at an hour of the day, over all days.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct HourOfDay {
    host: String,
    cpu: u64,
    /// The hour in UTC.
    hour: u64,
    records: u64,
    /// The time that was sampled, with a result.
    seconds: f64,
    /// The share of that time in which the core was shared.
    shared_share: f64,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    records: u64,
    seconds: f64,
    shared_s: f64,
}

/// Sums by machine, CPU and hour.
type Sums = BTreeMap<(String, u64, u64), Sum>;

pub fn run(selection: &Selection, catalogue: Catalogue, destination: Destination) -> anyhow::Result<Outcome> {
    let mut sums = Sums::new();
    selection.each(EXPERIMENT, catalogue, |entry, record| add(&mut sums, entry, record))?;
    let hours: Vec<HourOfDay> = sums.into_iter().map(hour_of_day).collect();
    if hours.is_empty() {
        return Err(UsageError(
            "no record of `contend core` in the archive; run `contend core` to measure how often a core is shared"
                .into(),
        )
        .into());
    }
    destination.present(&hours, &hours, |page| text(&hours, page))?;
    Ok(Outcome::Done)
}

fn add(sums: &mut Sums, entry: &Entry, record: &Value) {
    for row in record["results"].as_array().into_iter().flatten() {
        let Some(cpu) = row["cpu"].as_u64() else { continue };
        for (hour, (seconds, shared_s)) in of_row(row, entry.summary.started_unix_s) {
            let sum = sums.entry((entry.summary.host.clone(), cpu, hour)).or_default();
            sum.records += 1;
            sum.seconds += seconds;
            sum.shared_s += shared_s;
        }
    }
}

/// Returns, by hour of the day, the sampled seconds and those in which the core was shared. An older record has no
/// hours, but the pieces of its timeline. A record from another archive may have any values.
fn of_row(row: &Value, began_unix_s: u64) -> BTreeMap<u64, (f64, f64)> {
    let parts = match row["hours"].as_array() {
        Some(hours) => hours.iter().filter_map(of_hour).collect(),
        None => of_timeline(row["timeline"].as_array().map_or(&[], Vec::as_slice), began_unix_s),
    };
    let mut hours: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for (hour, seconds, share) in parts {
        if seconds.is_finite() && seconds > 0.0 {
            let (looked_s, shared_s) = hours.entry(hour % 24).or_default();
            *looked_s += seconds;
            *shared_s += seconds * share.clamp(0.0, 1.0);
        }
    }
    hours
}

fn of_hour(hour: &Value) -> Option<(u64, f64, f64)> {
    Some((hour["hour"].as_u64()?, hour["seconds"].as_f64()?, hour["shared_share"].as_f64()?))
}

/// Returns the pieces of a timeline. All pieces of a run have the same length; a single one is of a run of about a
/// second.
fn of_timeline(pieces: &[Value], began_unix_s: u64) -> Vec<(u64, f64, f64)> {
    let from_s = |piece: &Value| piece["from_s"].as_f64();
    let length_s = pieces.get(1).and_then(from_s).unwrap_or(1.0);
    let of = |piece: &Value| {
        let hour = (began_unix_s as f64 + from_s(piece)?) as u64 / HOUR_S;
        Some((hour, length_s, piece["shared_share"].as_f64()?))
    };
    pieces.iter().filter_map(of).collect()
}

fn hour_of_day(((host, cpu, hour), sum): ((String, u64, u64), Sum)) -> HourOfDay {
    let shared_share = sum.shared_s / sum.seconds;
    HourOfDay { host, cpu, hour, records: sum.records, seconds: sum.seconds, shared_share }
}

/// Draws a map, an hour two columns wide, and for each machine its fullest hour in words.
fn text(hours: &[HourOfDay], page: &Page) -> String {
    let mut text = String::from("Share of time in which an SMT sibling used the core, by hour of the day (UTC)\n");
    for machine in hours.chunk_by(|a, b| a.host == b.host) {
        text += &format!("\n{}\n          0   2   4   6   8   10  12  14  16  18  20  22\n", machine[0].host);
        for cpu in machine.chunk_by(|a, b| a.cpu == b.cpu) {
            let at = |hour: u64| cpu.iter().find(|one| one.hour == hour).map(|one| one.shared_share);
            let columns = (0..24).flat_map(|hour| [at(hour), at(hour)]);
            text += &format!("CPU {:>4} |{}|\n", cpu[0].cpu, terminal::levels(columns));
        }
        let fullest = machine.iter().max_by(|a, b| a.shared_share.total_cmp(&b.shared_share));
        text += &fullest.map(words).unwrap_or_default();
    }
    text.lines().map(|line| page.cut(line) + "\n").collect::<String>() + "A dot: not measured in that hour.\n"
}

fn words(fullest: &HourOfDay) -> String {
    let HourOfDay { cpu, hour, shared_share, .. } = fullest;
    format!("Maximum at {hour:02}:00: {} of the time on CPU {cpu}.\n", percent(*shared_share))
}
