//! `contend history trend`: a value over all records, its steps, and the other changes there.

mod series;

use self::series::{Level, Series, Trend, of_figure, readings};
use super::list::Filter;
use crate::commands::outliers::{self, Machines};
use crate::output::Destination;
use anyhow::bail;
use archive::{Catalogue, short};
use clap::Args;
use harness::{Outcome, UsageError};
use instruments::statistics::Interval;
use instruments::statistics::order::median;
use terminal::{Page, Point, Scatter, moment, ratio};

#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Metric: a name that `contend compare` prints, or a part of it [default: list all names]
    #[arg(value_name = "CELL")]
    cell: Option<String>,

    #[command(flatten)]
    filter: Filter,
}

/// The maximum number of names in a message.
const NAMED: usize = 12;

pub fn run(flags: &Flags, catalogue: Catalogue, destination: Destination) -> anyhow::Result<Outcome> {
    let entries = flags.filter.of(catalogue.entries)?;
    let (all, unreadable) = series::series(&catalogue.archive, &entries)?;
    let Some(wanted) = &flags.cell else {
        let machines = Machines::of(&readings(&all, &entries));
        let of_machines = |page: &Page| machines.map_or_else(String::new, |found| outliers::text(&found, page));
        destination.present(&all, &all, |page| list(&all) + &excluded(unreadable) + &of_machines(page))?;
        return Ok(Outcome::Done);
    };
    let chosen = chosen(wanted, &all)?;
    let machines = Machines::of(&readings(of_figure(chosen, &all, &entries), &entries));
    let trend = Trend { machines, ..Trend::of(chosen, unreadable, &catalogue.archive)? };
    destination.present(&trend, &trend.points, |page| text(&trend, page))?;
    Ok(Outcome::Done)
}

/// Returns the series with the best match, if there is only one.
fn chosen<'a>(wanted: &str, all: &'a [Series]) -> anyhow::Result<&'a Series> {
    let alike: Vec<(NameMatch, &Series)> =
        all.iter().filter_map(|series| Some((likeness(wanted, &series.name())?, series))).collect();
    let best = alike.iter().map(|(likeness, _)| *likeness).min();
    let matching: Vec<&Series> =
        alike.iter().filter(|(likeness, _)| Some(*likeness) == best).map(|(_, series)| *series).collect();
    match matching[..] {
        [one] => Ok(one),
        [] => bail!("{wanted}: no metric of this name in these records; `contend history trend` lists them"),
        _ => {
            let names: Vec<String> = matching.iter().take(NAMED).map(|series| series.name()).collect();
            let more = matching.len().saturating_sub(NAMED);
            let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
            Err(UsageError(format!(
                "{wanted}: {} metrics match; give a longer part of the name:\n  {}{more}",
                matching.len(),
                names.join("\n  ")
            ))
            .into())
        }
    }
}

fn list(all: &[Series]) -> String {
    if all.is_empty() {
        return "no metrics in these records\n".into();
    }
    let line = |series: &Series| vec![series.points.len().to_string(), series.name()];
    terminal::table_of_words(&["records", "metric"], all.iter().map(line))
}

/// The match of a name with a series; the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NameMatch {
    Same,
    /// The series has all parts of the name, in this order, and more: a comparison omits parts that do not vary there.
    Named,
    /// The name is a part of the text.
    Part,
}

/// Returns the match of the wanted name with that of a series; `None` without one.
fn likeness(wanted: &str, series: &str) -> Option<NameMatch> {
    let (wanted, series) = (plain(wanted), plain(series));
    if wanted == series {
        return Some(NameMatch::Same);
    }
    let mut of_series = pieces(&series);
    if pieces(&wanted).all(|piece| of_series.any(|other| other == piece)) {
        return Some(NameMatch::Named);
    }
    series.contains(&wanted).then_some(NameMatch::Part)
}

/// Returns the name as it can be typed: lower case, single spaces, and `us` for either sign of a microsecond.
fn plain(name: &str) -> String {
    let words: Vec<String> = name.to_lowercase().split_whitespace().map(str::to_owned).collect();
    words.join(" ").replace(['\u{b5}', '\u{3bc}'], "u")
}

/// Returns the parts between commas and colons.
fn pieces(name: &str) -> impl Iterator<Item = &str> {
    name.split([',', ':']).map(str::trim).filter(|piece| !piece.is_empty())
}

/// Draws the points in the order of the records, marked by their level, and a table of the levels.
fn text(trend: &Trend, page: &Page) -> String {
    let values: Vec<f64> = trend.points.iter().map(|point| point.value).collect();
    let name = series::name(&trend.experiment, &trend.cell, trend.figure);
    let Some(middle) = median(&values) else { return format!("{name}\n\n{}", left_out(trend)) };
    let point = |(place, point): (usize, &series::Point)| Point {
        x_ns: (place + 1) as f64,
        y: point.value / middle,
        mark: point.level.unwrap_or('+'),
    };
    let points: Vec<Point> = trend.points.iter().enumerate().map(point).collect();
    let title = format!("{name}; 1.0 is {}", trend.unit.words(middle));
    let picture = Scatter { title: &title, points: &points }.draw_in_order(page);
    let machines =
        trend.machines.as_ref().map_or_else(String::new, |found| format!("\n{}", outliers::text(found, page)));
    format!("{picture}\n{}{}{}{machines}", table(trend), changes(&trend.levels), left_out(trend))
}

fn table(trend: &Trend) -> String {
    let words = |value: f64| trend.unit.words(value);
    let interval = |value: String, ends: Option<Interval>, words: &dyn Fn(f64) -> String| match ends {
        Some(ends) => format!("{value} ({}–{})", words(ends.low), words(ends.high)),
        None => value,
    };
    let line = |level: &Level| {
        vec![
            format!("({}) from {}", level.letter, short(&level.first_record)),
            moment(level.first_started_unix_s),
            level.records.to_string(),
            interval(words(level.median), level.median_ci, &words),
            level.ratio.map_or_else(String::new, |times| interval(ratio(times), level.ratio_ci, &ratio)),
        ]
    };
    let header = ["level", "started (UTC)", "records", "median (95 % CI)", "step (95 % CI)"];
    terminal::table(&header, trend.levels.iter().map(line)) + "\n"
}

fn changes(levels: &[Level]) -> String {
    let mut text = String::new();
    for pair in levels.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        text += &format!("({}) to ({}), after {}: ", before.letter, after.letter, short(&before.last_record));
        if after.changed.is_empty() {
            text += "no recorded property changed at the same time\n";
            continue;
        }
        text += "changed at the same time (not necessarily the cause):\n";
        for difference in &after.changed {
            text += &format!("  {}: {}\n", difference.name, difference.values.join(" → "));
        }
    }
    if levels.len() == 1 { "No step was detected.\n".into() } else { text }
}

fn left_out(trend: &Trend) -> String {
    let mut text = String::new();
    if trend.not_positive > 0 {
        text += &format!(
            "{} records are excluded: their value is 0, so they have no ratio to the others.\n",
            trend.not_positive
        );
    }
    text + &excluded(trend.unreadable)
}

/// Returns the note on records of another version, or damaged ones.
fn excluded(records: usize) -> String {
    match records {
        0 => String::new(),
        1 => "1 record is excluded: this version of contend cannot read it.\n".to_owned(),
        several => format!("{several} records are excluded: this version of contend cannot read them.\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_comparison_is_found_among_longer_names() {
        let series = "latency: std, 1 thread, hold 6.10 \u{b5}s, on box: lock, median";
        let like = |wanted| likeness(wanted, series);
        assert_eq!(like(series), Some(NameMatch::Same));
        assert_eq!(like("std, 1 thread: lock, median"), Some(NameMatch::Named));
        assert_eq!(like("Latency: std, hold 6.10 us: lock, median"), Some(NameMatch::Named));
        assert_eq!(like("hold 6.1"), Some(NameMatch::Part));
        assert_eq!(like("std, 11 threads: lock, median"), None);
        assert_eq!(like("median, std"), None);
    }
}
