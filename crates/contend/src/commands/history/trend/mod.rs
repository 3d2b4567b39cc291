//! `contend history trend`: a value over all records, its steps, and the other changes there.

mod series;

use self::series::{Level, Series, Trend, of_figure, readings};
use super::list::Filter;
use crate::commands::compare::with_ends;
use crate::commands::outliers::{self, Machines};
use crate::output::Destination;
use anyhow::bail;
use archive::{Catalogue, short};
use clap::Args;
use harness::{Outcome, UsageError};
use instruments::statistics::Interval;
use instruments::statistics::order::median;
use terminal::{Page, Point, Scatter, escaped, moment, ratio, wrapped};

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
        destination.present(&all, &all, |page| list(&all, page) + &excluded(unreadable) + &of_machines(page))?;
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

/// Lists the names in full, since a user types them.
fn list(all: &[Series], page: &Page) -> String {
    if all.is_empty() {
        return "no metrics in these records\n".into();
    }
    let line = |series: &Series| {
        let count = format!("{:<7}", series.points.len());
        wrapped(&count, &" ".repeat(9), &escaped(&series.name()), page)
    };
    "records metric\n".to_owned() + &all.iter().map(line).collect::<String>()
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
    let title = |words: &str| wrapped("", "  ", &escaped(words), page);
    let Some(middle) = median(&values) else { return format!("{}\n{}", title(&name), left_out(trend)) };
    let point = |(place, point): (usize, &series::Point)| Point {
        x_ns: (place + 1) as f64,
        y: point.value / middle,
        mark: point.level.unwrap_or('+'),
    };
    let points: Vec<Point> = trend.points.iter().enumerate().map(point).collect();
    let title = title(&format!("{name}; 1.0 is {}", trend.unit.words(middle)));
    let picture = Scatter { title: title.trim_end(), points: &points }.draw_in_order(page);
    let machines =
        trend.machines.as_ref().map_or_else(String::new, |found| format!("\n{}", outliers::text(found, page)));
    format!("{picture}\n{}{}{}{machines}", table(trend, page), changes(&trend.levels, page), left_out(trend))
}

fn table(trend: &Trend, page: &Page) -> String {
    let words = |value: f64| trend.unit.words(value);
    let interval = |value: String, ends: Option<Interval>, words: &dyn Fn(f64) -> String| match ends {
        Some(ends) => with_ends(&value, [words(ends.low), words(ends.high)]),
        None => value,
    };
    let line = |level: &Level| {
        vec![
            format!("({}) {}", level.letter, short(&level.first_record)),
            moment(level.first_started_unix_s),
            level.records.to_string(),
            interval(words(level.median), level.median_ci, &words),
            level.ratio.map_or_else(String::new, |times| interval(ratio(times), level.ratio_ci, &ratio)),
        ]
    };
    let header = ["level from", "started (UTC)", "records", "median (95 % CI)", "step (95 % CI)"];
    page.cut_lines(&terminal::table(&header, trend.levels.iter().map(line))) + "\n"
}

fn changes(levels: &[Level], page: &Page) -> String {
    let mut text = String::new();
    for pair in levels.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        let changed = match after.changed.is_empty() {
            true => "no recorded property changed at the same time",
            false => "changed at the same time (not necessarily the cause):",
        };
        let head =
            format!("({}) to ({}), after {}: {changed}", before.letter, after.letter, short(&before.last_record));
        text += &wrapped("", "   ", &head, page);
        for difference in &after.changed {
            let property = format!("{}: {}", difference.name, difference.values.join(" → "));
            text += &wrapped(" ", "   ", &escaped(&property), page);
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
    use record::{Difference, Unit};

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

    const CELL: &str = "parking_lot, 16 threads, core exclusive, hold 6.10 \u{b5}s, on a-machine.example.org";

    fn trend() -> Trend {
        let level = |letter, ratio: Option<f64>| Level {
            letter,
            first_record: "0123456789abcdef".into(),
            first_started_unix_s: 1_700_000_000,
            last_record: "0123456789abcdef".into(),
            last_started_unix_s: 1_700_000_000,
            records: 1_000_000,
            median: 12.34e6,
            median_ci: Some(Interval::new(12.0e6, 12.5e6)),
            ratio,
            ratio_ci: ratio.map(|_| Interval::new(1.1, 1.3)),
            changed: ratio.iter().map(|_| changed()).collect(),
        };
        let point = |level| series::Point {
            record: String::new(),
            started_unix_s: 0,
            value: 12.34e6,
            value_ci: None,
            resolution: 1.0,
            level: Some(level),
        };
        Trend {
            experiment: "latency".into(),
            cell: CELL.into(),
            figure: "lock and unlock",
            unit_name: "ns",
            levels: vec![level('A', None), level('B', Some(1.2))],
            points: vec![point('A'), point('B')],
            not_positive: 0,
            unreadable: 0,
            machines: None,
            unit: Unit::Ns,
        }
    }

    fn changed() -> Difference {
        let values = [
            "#1 SMP PREEMPT_DYNAMIC Debian 6.1.1-1 (2026-01-01)",
            "#1 SMP PREEMPT_DYNAMIC Debian 6.2.1-1 (2026-11-01)",
        ];
        Difference { name: "kernel.version".into(), values: values.map(str::to_owned).to_vec() }
    }

    #[test]
    fn trend_fits_the_page_and_its_steps_are_whole() {
        let text = text(&trend(), &Page::plain());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("12.3 ms (12.0–12.5) 1.20× (1.10–1.30)\n"), "{text}");
        assert!(text.contains("\n  kernel.version: #1 SMP") && text.contains("(2026-11-01)\n"), "{text}");
        let without_points = super::text(&Trend { points: Vec::new(), ..trend() }, &Page::plain());
        assert!(without_points.lines().all(|line| line.chars().count() <= 80), "{without_points}");
    }

    #[test]
    fn listed_names_fit_the_page_and_are_whole() {
        let series = Series {
            experiment: "latency".into(),
            cell: CELL.into(),
            figure: "lock and unlock",
            unit_name: "ns",
            points: trend().points,
            not_positive: 0,
            unit: Unit::Ns,
            is_computed: false,
        };
        let name = series.name();
        let text = list(&[series], &Page::plain());
        assert!(text.starts_with("records metric\n2       latency: parking_lot, "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").ends_with(&name), "{text}");
    }
}
