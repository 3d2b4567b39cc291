//! Views of many records of the archive, selected by machine and time: their list, the hours in which cores were
//! shared, and the false-alarm rate of `contend ab`.

use crate::commands::archived;
use crate::output::Destination;
use anyhow::ensure;
use archive::{Catalogue, Entry, Location, Summary};
use clap::Args;
use harness::{Outcome, UsageError};
use instruments::statistics::outlier::LEAST_MACHINES;
use instruments::statistics::{Interval, proportion};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use terminal::{Page, moment, percent};

const DAY_S: u64 = 86_400;

/// The machine and the time of the selected records.
#[derive(Args, Clone, Debug)]
pub struct Selection {
    /// Only records of this machine
    #[arg(long, value_name = "NAME")]
    host: Option<String>,

    /// Only records started since WHEN: a day (2026-11-21, UTC), or a time before now (12h, 7d, 4w)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
}

impl Selection {
    /// Returns the selected entries, of this experiment if it is given.
    ///
    /// # Errors
    /// `--since` is not a moment.
    fn of(&self, experiment: Option<&str>, entries: Vec<Entry>) -> anyhow::Result<Vec<Entry>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let moment = |text: &str| since(text, now).map_err(|error| UsageError(format!("--since {text}: {error}")));
        let from = self.since.as_deref().map(moment).transpose()?.unwrap_or(0);
        let is = |wanted: Option<&str>, found: &str| wanted.is_none_or(|wanted| wanted == found);
        let is_selected = |entry: &Entry| {
            let summary = &entry.summary;
            is(experiment, &summary.experiment)
                && is(self.host.as_deref(), &summary.host)
                && summary.started_unix_s >= from
        };
        Ok(entries.into_iter().filter(is_selected).collect())
    }

    /// Passes each selected record of this experiment to `take`; an unreadable one is skipped.
    ///
    /// # Errors
    /// `--since` is not a moment, or Git fails.
    fn each(&self, experiment: &str, catalogue: Catalogue, mut take: impl FnMut(&Entry, &Value)) -> anyhow::Result<()> {
        let entries = self.of(Some(experiment), catalogue.entries)?;
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        catalogue.archive.each(&ids, |place, found| {
            let record = found.ok().and_then(|(content, _)| serde_json::from_slice::<Value>(&content).ok());
            record.into_iter().for_each(|record| take(&entries[place], &record));
        })
    }
}

/// Returns the moment of `text`, in seconds since 1970: a day in UTC (`2026-11-21`), or that long before `now_unix_s`
/// (`12h`, `7d`, `4w`).
fn since(text: &str, now_unix_s: u64) -> Result<u64, String> {
    let wrong = || "allowed: a date such as 2026-11-21, or a time before now such as 12h, 7d or 4w".to_owned();
    if text.contains('-') {
        let day = Date::strptime("%Y-%m-%d", text).and_then(|day| day.to_zoned(TimeZone::UTC)).map_err(|_| wrong())?;
        return u64::try_from(day.timestamp().as_second()).map_err(|_| wrong());
    }
    let unit = text.chars().last().ok_or_else(wrong)?;
    let unit_s = [('h', 3_600), ('d', DAY_S), ('w', 7 * DAY_S)].into_iter().find(|(name, _)| *name == unit);
    let (_, unit_s) = unit_s.ok_or_else(wrong)?;
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    Ok(now_unix_s.saturating_sub(number.saturating_mul(unit_s)))
}

/// The records to list.
#[derive(Args, Clone, Debug)]
pub struct Filter {
    /// Only records of this experiment, such as latency
    #[arg(long, value_name = "NAME")]
    experiment: Option<String>,

    #[command(flatten)]
    selection: Selection,
}

impl Filter {
    /// Returns the selected entries.
    ///
    /// # Errors
    /// `--since` is not a moment.
    pub fn of(&self, entries: Vec<Entry>) -> anyhow::Result<Vec<Entry>> {
        self.selection.of(self.experiment.as_deref(), entries)
    }
}

/// Prints the list; `is_named` means that the user named the archive in this call.
pub fn list(filter: &Filter, folder: &Path, is_named: bool, destination: Destination) -> anyhow::Result<Outcome> {
    let (found, place) = (archived::at(&Location::Folder(folder.to_owned()))?, folder.display());
    // Before the first run there is no archive, which is not a failure; a missing archive that was named is.
    let is_there = found.is_some();
    let all = found.map_or_else(Vec::new, |catalogue| catalogue.entries);
    let available = available(&all);
    // An invalid filter is reported first: the flags are wrong wherever the archive is.
    let entries = filter.of(all)?;
    ensure!(is_there || !is_named, "{place}: no archive; the first run with --archive {place} creates one");
    let none = |page: &Page| match is_there {
        true => format!("no matching records in {place}\n{}", folded(&available, page)),
        // The path alone is often half a line.
        false => format!("no archive yet in {place};\nthe first run creates one\n"),
    };
    let text = |page: &Page| if entries.is_empty() { none(page) } else { lines(&entries, page) };
    destination.present(&entries, &entries, text)?;
    Ok(Outcome::Done)
}

/// Returns the available records, for a user that requested others.
fn available(all: &[Entry]) -> String {
    let names = |name: fn(&Summary) -> &str| {
        let names: BTreeSet<&str> = all.iter().map(|entry| name(&entry.summary)).collect();
        names.into_iter().collect::<Vec<&str>>().join(", ")
    };
    let Some(last) = all.iter().map(|entry| entry.summary.started_unix_s).max() else { return String::new() };
    let experiments = names(|summary| &summary.experiment);
    let machines = names(|summary| &summary.host);
    format!("experiments in it: {experiments}\nmachines: {machines}\nlast record: {}\n", moment(last))
}

/// Breaks each line that is too long.
fn folded(text: &str, page: &Page) -> String {
    text.lines().map(|line| terminal::wrapped("", "  ", line, page)).collect()
}

fn lines(entries: &[Entry], page: &Page) -> String {
    let line = |entry: &Entry| {
        let summary = &entry.summary;
        let interrupted = if summary.interrupted { " (interrupted)" } else { "" };
        let host: String = summary.host.chars().take(16).collect();
        vec![
            entry.short_id().to_owned(),
            moment(summary.started_unix_s),
            host,
            format!("{}{interrupted}", called(summary)),
        ]
    };
    let table =
        terminal::table_of_words(&["record", "started (UTC)", "machine", "contend …"], entries.iter().map(line));
    page.cut_lines(&table) + &by_machine(entries, page)
}

/// Draws a line for each of several machines: a list opens no record, so that it cannot determine which one is an
/// outlier.
fn by_machine(entries: &[Entry], page: &Page) -> String {
    let mut machines: BTreeMap<&str, Vec<&Summary>> = BTreeMap::new();
    for entry in entries {
        machines.entry(&entry.summary.host).or_default().push(&entry.summary);
    }
    if machines.len() < 2 {
        return String::new();
    }
    let count = machines.len();
    let line = |(host, records): (&str, Vec<&Summary>)| {
        let begun = || records.iter().map(|summary| summary.started_unix_s);
        let ends = [begun().min(), begun().max()].map(|begun| moment(begun.unwrap_or(0)));
        [host.to_owned(), records.len().to_string()].into_iter().chain(ends).collect::<Vec<String>>()
    };
    let table = terminal::table_of_words(&["machine", "records", "from", "to"], machines.into_iter().map(line));
    let advice = if count < LEAST_MACHINES { "" } else { "`contend history trend` reports outliers among them.\n" };
    format!("\n{}{advice}", page.cut_lines(&table))
}

/// Returns the words after `contend`; a survey needs none.
fn called(summary: &Summary) -> String {
    match summary.command_line[..] {
        [] => summary.experiment.clone(),
        ref words => words.join(" "),
    }
}

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

/// Shows the hours of the day in which cores were shared, over all records of `contend core`.
pub fn hours(selection: &Selection, catalogue: Catalogue, destination: Destination) -> anyhow::Result<Outcome> {
    let mut sums = Sums::new();
    selection.each("core", catalogue, |entry, record| add(&mut sums, entry, record))?;
    let hours: Vec<HourOfDay> = sums.into_iter().map(hour_of_day).collect();
    if hours.is_empty() {
        return Err(UsageError(
            "no record of `contend core` in the archive; run `contend core` to measure how often a core is shared"
                .into(),
        )
        .into());
    }
    destination.present(&hours, &hours, |page| map_of_hours(&hours, page))?;
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
fn map_of_hours(hours: &[HourOfDay], page: &Page) -> String {
    let mut text = String::from("Share of time in which an SMT sibling used the core, by hour of the day (UTC)\n");
    for machine in hours.chunk_by(|a, b| a.host == b.host) {
        text += &format!("\n{}\n          0   2   4   6   8   10  12  14  16  18  20  22\n", machine[0].host);
        for cpu in machine.chunk_by(|a, b| a.cpu == b.cpu) {
            let at = |hour: u64| cpu.iter().find(|one| one.hour == hour).map(|one| one.shared_share);
            let columns = (0..24).flat_map(|hour| [at(hour), at(hour)]);
            text += &format!("CPU {:>4} |{}|\n", cpu[0].cpu, terminal::levels(columns));
        }
        let fullest = machine.iter().max_by(|a, b| a.shared_share.total_cmp(&b.shared_share));
        text += &fullest.map(words_of_hour).unwrap_or_default();
    }
    page.cut_lines(&text) + "A dot: not measured in that hour.\n"
}

fn words_of_hour(fullest: &HourOfDay) -> String {
    let HourOfDay { cpu, hour, shared_share, .. } = fullest;
    format!("Maximum at {hour:02}:00: {} of the time on CPU {cpu}.\n", percent(*shared_share))
}

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

/// Shows the false-alarm rate of `contend ab`: how often its control, the first command against itself, was shown to
/// differ.
pub fn controls(selection: &Selection, catalogue: Catalogue, destination: Destination) -> anyhow::Result<Outcome> {
    let mut counts = BTreeMap::new();
    selection.each("ab", catalogue, |entry, record| add_control(&mut counts, entry, record))?;
    let machines: Vec<Controls> = counts.into_iter().map(of_machine).collect();
    if machines.is_empty() {
        let fault =
            "no record with a control in the archive; `contend ab --control OLD NEW` compares OLD with itself, too";
        return Err(UsageError(fault.into()).into());
    }
    destination.present(&machines, &machines, |page| rates(&machines, page))?;
    Ok(Outcome::Done)
}

/// Counts the record, if it had a control: its machine's controls, and those that differed.
fn add_control(counts: &mut BTreeMap<String, (u64, u64)>, entry: &Entry, record: &Value) {
    let Some(differs) = record["parameters"]["control_differs"].as_bool() else { return };
    let (controls, differed) = counts.entry(entry.summary.host.clone()).or_default();
    *controls += 1;
    *differed += u64::from(differs);
}

fn of_machine((host, (controls, differed)): (String, (u64, u64))) -> Controls {
    let false_alarm_share_ci = proportion::interval(differed, controls, CONFIDENCE);
    Controls { host, controls, differed, false_alarm_share: differed as f64 / controls as f64, false_alarm_share_ci }
}

fn rates(machines: &[Controls], page: &Page) -> String {
    let line = |machine: &Controls| {
        let ends = |ends: Interval| format!(" ({}–{})", percent(ends.low), percent(ends.high));
        let interval = machine.false_alarm_share_ci.map_or_else(String::new, ends);
        let rate = format!("{}{interval}", percent(machine.false_alarm_share));
        vec![machine.host.clone(), machine.controls.to_string(), machine.differed.to_string(), rate]
    };
    let table =
        terminal::table(&["machine", "controls", "differed", "false alarms (95 % CI)"], machines.iter().map(line));
    let words =
        "A control is the first command of `contend ab` compared with itself. By design, at most 1 in 20 differ.";
    format!("{}\n{}", page.cut_lines(&table), terminal::wrapped("", "", words, page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_means_its_first_moment() {
        assert_eq!(since("1970-01-02", 0), Ok(DAY_S));
        assert_eq!(since("2020-02-29", 0), Ok(1_582_934_400));
    }

    #[test]
    fn a_span_counts_back_from_now() {
        assert_eq!(since("12h", 100_000), Ok(100_000 - 43_200));
        assert_eq!(since("4w", 1_000), Ok(0));
        for wrong in ["", "7", "d", "7m", "2026-13-01", "2026-02-30", "2026-01", "1969-12-31", "-1d"] {
            assert!(since(wrong, 0).is_err(), "{wrong}");
        }
    }

    #[test]
    fn available_records_fit_the_page() {
        let names: Vec<String> = (0..40).map(|place| format!("machine-{place}.example.org")).collect();
        let text = folded(&format!("machines: {}\nlast record: 2026-11-21 10:00\n", names.join(", ")), &Page::plain());
        assert!(text.contains("\n   machine-") && text.ends_with("\nlast record: 2026-11-21 10:00\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
