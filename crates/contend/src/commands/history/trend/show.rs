//! A series on a terminal: points in the order of the records, marked by their level, and a table of the levels.

use super::levels::{Level, Trend};
use crate::commands::outliers;
use archive::short;
use instruments::statistics::Interval;
use instruments::statistics::order::median;
use terminal::{self, Page, Point, Scatter, moment, ratio};

pub fn text(trend: &Trend, page: &Page) -> String {
    let values: Vec<f64> = trend.points.iter().map(|point| point.value).collect();
    let name = format!("{}: {}: {}", trend.experiment, trend.cell, trend.figure);
    let Some(middle) = median(&values) else { return format!("{name}\n\n{}", left_out(trend)) };
    let point = |(place, point): (usize, &super::series::Point)| Point {
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
    text + &unreadable(trend.unreadable)
}

/// Returns the note on records of another version, or damaged ones.
pub fn unreadable(records: usize) -> String {
    match records {
        0 => String::new(),
        1 => "1 record is excluded: this version of contend cannot read it.\n".to_owned(),
        several => format!("{several} records are excluded: this version of contend cannot read them.\n"),
    }
}
