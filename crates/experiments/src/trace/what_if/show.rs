//! The gains on a terminal.

use super::record::{Slope, Verdict, WhatIfRecord, WhatIfRow};
use super::words;
use terminal::{Page, nanoseconds, percent};

pub fn show(record: &WhatIfRecord, page: &Page) -> String {
    let (rows, parameters) = (&record.results, &record.parameters);
    let mut text = format!("{}\n", parameters.what_if_program.join(" "));
    for lock in &parameters.locks {
        let mean = lock.section_mean_ns.map_or_else(|| "–".to_owned(), nanoseconds);
        text.push_str(&format!("\nShorter critical sections of {} (mean now {mean})\n", lock.lock));
        for metric in words::metrics(rows) {
            let own = rows.iter().filter(|row| row.metric == metric);
            let own = own.filter(|row| row.what_if.as_ref().is_none_or(|what_if| what_if.lock == lock.lock));
            text.push_str(&format!("\n{metric}\n"));
            text.push_str(&terminal::table(&HEADER, own.map(line)));
            let slope = parameters.slopes.iter().find(|slope| slope.lock == lock.lock && slope.metric == metric);
            text.extend(slope.map(slope_line));
        }
    }
    let said = words::findings(rows).into_iter().chain(limits(rows)).chain(left(&parameters.locks_left));
    said.for_each(|said| text.push_str(&format!("\n{}", terminal::wrapped("", "", &said, page))));
    text
}

pub const HEADER: [&str; 7] = ["shorter by", "runs", "median", "95 % CI", "gain", "95 % CI", "verdict"];

/// A row as a line of a table.
pub fn line(row: &WhatIfRow) -> Vec<String> {
    let dash = || "–".to_owned();
    let unit = row.unit;
    let share = row.what_if.as_ref().map_or_else(|| "plain".to_owned(), |what_if| percent(what_if.shorter_share));
    let mark = if row.limited_by_cpus_share > 0.5 { " *" } else { "" };
    vec![
        format!("{share}{mark}"),
        row.runs.to_string(),
        row.median.map_or_else(dash, |median| unit.words(median)),
        row.ci.map_or_else(dash, |ends| format!("{} to {}", unit.words(ends.low), unit.words(ends.high))),
        row.gain.filter(|_| row.verdict != Verdict::Baseline).map_or_else(dash, words::signed),
        row.gain_ci.map_or_else(dash, |ends| words::interval(ends.low, ends.high)),
        row.verdict.label().to_owned(),
    ]
}

fn slope_line(slope: &Slope) -> String {
    let ends = words::interval(slope.slope_ci.low, slope.slope_ci.high);
    format!("slope: {} for sections that take no time (95 % CI {ends})\n", words::signed(slope.slope))
}

/// What the mark means.
fn limits(rows: &[WhatIfRow]) -> Option<String> {
    let is_limited = rows.iter().any(|row| row.limited_by_cpus_share > 0.5);
    is_limited.then(|| {
        "* The CPUs are the limit here: even if all of them are always busy, the work takes this long.".to_owned()
    })
}

fn left(locks: &[String]) -> Option<String> {
    (!locks.is_empty()).then(|| format!("Also contended, but not tried: {}.", locks.join(", ")))
}
