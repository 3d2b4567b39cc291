//! Sentences about the rows, and the values that are compared with other records.

use super::record::{PreemptedRecord, Row, RowKind};
use instruments::statistics::comparison::Estimate;
use record::{Better, Cell, Finding, Metric, Origin, Unit, VariationSource};
use terminal::{nanoseconds, percent};

/// Returns the command that follows: all waits of the same program.
pub fn next(record: &PreemptedRecord<'_>) -> Option<Vec<String>> {
    let (first, rest) = match record.parameters.attached_pid {
        Some(pid) => ("--pid".to_owned(), vec![pid.to_string()]),
        None => ("--".to_owned(), record.parameters.program.clone()),
    };
    Some(["trace".to_owned(), first].into_iter().chain(rest).collect())
}

/// Returns the rate and the share of the whole program.
pub fn metrics(row: &Row) -> Vec<Metric> {
    if row.kind != RowKind::Total {
        return Vec::new();
    }
    let cell = Cell::of(["all locks".to_owned()]);
    let metric = |share: f64| Metric {
        unit: Unit::Share,
        better: Better::Less,
        variation: VariationSource::Elapsed,
        ..Metric::time(&cell, "waiting for preempted holders", share, None)
    };
    row.waited_share.map(metric).into_iter().collect()
}

/// Returns the finding about the lock with the longest waits for preempted holders.
pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    let first = rows.iter().find(|(_, row)| row.kind == RowKind::Preempted);
    let found = first.and_then(|(place, row)| {
        let figure = Estimate::new(row.times_per_s?, None);
        let source = Origin::of("preempted", *place, row.lock.clone(), "times_per_s");
        Some(Finding::new("preempted_holders", sentence(row)?, Unit::PerS, figure, source))
    });
    found.into_iter().collect()
}

/// Returns the sentence about a lock or about all locks; `None` where the preemptions are not known.
pub fn sentence(row: &Row) -> Option<String> {
    let rate = row.times_per_s?;
    let of = if row.kind == RowKind::Total {
        "Holders of locks were".to_owned()
    } else {
        format!("Holders of {} ({}) were", row.lock, row.site)
    };
    if row.times == 0 {
        return Some(format!("{of} never seen preempted."));
    }
    let share = row.waited_share.map(|share| format!(", {} of all waiting", percent(share))).unwrap_or_default();
    let hold = row.hold_p50_ns.map(|ns| format!(" Half of the holds take at most {}.", nanoseconds(ns)));
    let covers = row.covered_by_5us.zip(row.covered_by_50us).map(|(five, fifty)| {
        format!(
            " A time slice extension of 5 µs would have covered {} of the {}, one of 50 µs {}.",
            counted(five, row.times),
            row.times,
            counted(fifty, row.times)
        )
    });
    Some(format!(
        "{of} preempted {} times a second{share}.{}{}",
        per_s(rate),
        hold.unwrap_or_default(),
        covers.unwrap_or_default()
    ))
}

fn counted(share: f64, times: u64) -> u64 {
    (share * times as f64).round() as u64
}

/// Writes a rate: with a digit behind the point where it is small.
pub fn per_s(rate: f64) -> String {
    if rate < 10.0 { format!("{rate:.2}") } else { terminal::count(rate.round() as u64) }
}
