//! The gains on a terminal and on a page, and the sentences that both share.

use super::record::{Slope, Verdict, WhatIf, WhatIfRecord, WhatIfRow};
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit, distinct};
use terminal::{Page, nanoseconds, percent};

pub fn show(record: &WhatIfRecord<'_>, page: &Page) -> String {
    let (rows, parameters) = (&record.results, &record.parameters);
    let mut text = format!("{}\n", parameters.what_if_program.join(" "));
    for lock in &parameters.locks {
        text.push_str(&heading(&lock.lock, lock.section_mean_ns, page));
        for metric in distinct(rows, |row| row.metric.clone()) {
            let own = rows.iter().filter(|row| row.metric == metric);
            let own = own.filter(|row| row.what_if.as_ref().is_none_or(|what_if| what_if.lock == lock.lock));
            text.push_str(&format!("\n{metric}\n"));
            text.push_str(&terminal::table(&HEADER, own.map(line)));
            let slope = parameters.slopes.iter().find(|slope| slope.lock == lock.lock && slope.metric == metric);
            text.extend(slope.map(slope_line));
        }
    }
    let said = findings(rows).into_iter().chain(limits(rows)).chain(left(&parameters.locks_left));
    said.for_each(|said| text.push_str(&format!("\n{}", terminal::wrapped("", "", &said, page))));
    text
}

fn heading(lock: &str, mean_ns: Option<f64>, page: &Page) -> String {
    let mean = mean_ns.map_or_else(|| "–".to_owned(), nanoseconds);
    let text = format!("Shorter critical sections of {lock} (mean now {mean})");
    format!("\n{}", terminal::wrapped("", "  ", &text, page))
}

const HEADER: [&str; 7] = ["shorter by", "runs", "median", "95 % CI", "gain", "95 % CI", "verdict"];

/// Returns a row as a line of a table.
fn line(row: &WhatIfRow) -> Vec<String> {
    let dash = || "–".to_owned();
    let unit = row.unit;
    let share = row.what_if.as_ref().map_or_else(|| "plain".to_owned(), |what_if| percent(what_if.shorter_share));
    let mark = if row.limited_by_cpus_share > 0.5 { " *" } else { "" };
    vec![
        format!("{share}{mark}"),
        row.runs.to_string(),
        row.median.map_or_else(dash, |median| unit.words(median)),
        row.ci.map_or_else(dash, |ends| format!("{} to {}", unit.words(ends.low), unit.words(ends.high))),
        row.gain.filter(|_| row.verdict != Verdict::Baseline).map_or_else(dash, signed),
        row.gain_ci.map_or_else(dash, |ends| interval(ends.low, ends.high)),
        row.verdict_words(),
    ]
}

fn slope_line(slope: &Slope) -> String {
    let ends = interval(slope.slope_ci.low, slope.slope_ci.high);
    format!("slope: {} for sections that take no time (95 % CI {ends})\n", signed(slope.slope))
}

/// Returns the meaning of the mark.
fn limits(rows: &[WhatIfRow]) -> Option<String> {
    let is_limited = rows.iter().any(|row| row.limited_by_cpus_share > 0.5);
    is_limited.then(|| {
        "* The CPUs are the limit here: even if all of them are always busy, the work takes this long.".to_owned()
    })
}

fn left(locks: &[String]) -> Option<String> {
    (!locks.is_empty()).then(|| format!("Also contended, but not tried: {}.", locks.join(", ")))
}

/// Returns the gains on a page: a picture of gain by share for each metric, and a table.
pub fn section(rows: &[WhatIfRow]) -> Section {
    Section {
        experiment: "trace",
        title: "Predicted gain from shorter critical sections".into(),
        findings: findings(rows).into_iter().map(Statement::from).collect(),
        figures: distinct(rows, |row| row.metric.clone()).iter().map(|metric| of_metric(metric, rows)).collect(),
        histograms: Vec::new(),
    }
}

fn of_metric(metric: &str, rows: &[WhatIfRow]) -> Figure {
    let of = |lock: &str| {
        let own = rows.iter().filter(move |row| row.metric == metric);
        own.filter(|row| row.what_if.as_ref().is_some_and(|what_if| what_if.lock == lock)).collect::<Vec<_>>()
    };
    let locks = locks(rows);
    let point = |row: &&WhatIfRow| {
        let share = row.what_if.as_ref()?.shorter_share;
        let y = if share == 0.0 { 0.0 } else { row.gain? };
        let (low, high) = (row.gain_ci.map(|ends| ends.low), row.gain_ci.map(|ends| ends.high.min(MOST_GAIN)));
        Some(Point { x: share, y, low, high })
    };
    let series = locks.iter().map(|lock| Series {
        name: lock.clone(),
        mark: Mark::Line,
        points: of(lock).iter().filter_map(point).collect(),
    });
    let axis = |label| Axis { label, unit: Unit::Share, logarithmic: false };
    let table = |lock: &String| Table {
        caption: lock.clone(),
        header: HEADER.to_vec(),
        rows: of(lock).iter().map(|row| line(row)).collect(),
    };
    Figure {
        title: format!("{metric}: gain by reduction of the critical sections"),
        picture: Picture::Plot(Plot { x: axis("shorter by"), y: axis("gain"), series: series.collect() }),
        tables: locks.iter().map(table).collect(),
        secondary: false,
    }
}

/// Returns the locks, in order of appearance.
fn locks(rows: &[WhatIfRow]) -> Vec<String> {
    let named: Vec<&WhatIf> = rows.iter().filter_map(|row| row.what_if.as_ref()).collect();
    distinct(&named, |what_if| what_if.lock.clone())
}

/// Returns the gains of halving a lock's sections, and of freeing it: a sentence a lock, of the metric that decides.
fn findings(rows: &[WhatIfRow]) -> Vec<String> {
    let metrics = distinct(rows, |row| row.metric.clone());
    let Some(metric) = metrics.get(1).or(metrics.first()) else { return Vec::new() };
    locks(rows).iter().filter_map(|lock| finding(rows, lock, metric)).collect()
}

fn finding(rows: &[WhatIfRow], lock: &str, metric: &str) -> Option<String> {
    let at = |share: f64| rows.iter().find(|row| row.metric == metric && row.is_of(lock, share));
    let (half, free) = (at(0.5)?, at(1.0)?);
    let better = if half.higher_is_better { "higher" } else { "lower" };
    let said = |row: &WhatIfRow| match (row.verdict, row.gain) {
        (Verdict::Gain | Verdict::Loss, Some(_)) => gain(row),
        (Verdict::NoneShown, _) => row.gain_ci.map_or_else(
            || "nothing that is shown".to_owned(),
            |ends| format!("{} (no gain is shown)", interval(ends.low, ends.high)),
        ),
        _ => format!("an unknown amount ({})", row.verdict_words()),
    };
    Some(match (half.verdict, free.verdict) {
        (Verdict::NoneShown, Verdict::NoneShown) => {
            format!(
                "{lock}, by {metric} ({better} is better): neither halving nor removing its critical sections shows \
                 a gain."
            )
        }
        _ => format!(
            "{lock}, by {metric} ({better} is better): halving its critical sections gains {}, removing them {}.",
            said(half),
            said(free)
        ),
    })
}

/// Returns a gain as text: `31 % (95 % CI 29 % to 33 %)`.
fn gain(row: &WhatIfRow) -> String {
    let ends = row.gain_ci.map_or_else(String::new, |ends| format!(" (95 % CI {})", interval(ends.low, ends.high)));
    row.gain.map_or_else(|| "–".to_owned(), |gain| format!("{}{ends}", signed(gain)))
}

/// Returns a share that can be below nothing.
fn signed(share: f64) -> String {
    if share < 0.0 { format!("−{}", percent(-share)) } else { percent(share) }
}

/// A gain beyond this has no upper bound that says anything: the predicted time is nearly nothing.
const MOST_GAIN: f64 = 20.0;

fn interval(low: f64, high: f64) -> String {
    if high > MOST_GAIN { format!("{} or more", signed(low)) } else { format!("{} to {}", signed(low), signed(high)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_fits_the_page_whatever_its_values() {
        let text =
            heading("mutex of take_the_next_session (sessions_of_the_server.c:1042)", Some(123_456.0), &Page::plain());
        assert!(text.ends_with("(mean now 123 µs)\n") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
