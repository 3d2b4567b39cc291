//! Sentences that the terminal and the page share.

use super::record::{Verdict, WhatIfRow};
use terminal::percent;

/// Of these rows: which metrics, and which locks, in the order in which they come.
pub fn metrics(rows: &[WhatIfRow]) -> Vec<&str> {
    distinct(rows.iter().map(|row| row.metric.as_str()))
}

pub fn locks(rows: &[WhatIfRow]) -> Vec<&str> {
    distinct(rows.iter().filter_map(|row| row.what_if.as_ref()).map(|what_if| what_if.lock.as_str()))
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    names.for_each(|name| {
        if !found.contains(&name) {
            found.push(name)
        }
    });
    found
}

/// What halving a lock's sections gains, and freeing it: a sentence a lock, of the metric that decides.
pub fn findings(rows: &[WhatIfRow]) -> Vec<String> {
    let metrics = metrics(rows);
    let Some(metric) = metrics.get(1).or(metrics.first()) else { return Vec::new() };
    locks(rows).iter().filter_map(|lock| finding(rows, lock, metric)).collect()
}

fn finding(rows: &[WhatIfRow], lock: &str, metric: &str) -> Option<String> {
    let at = |share: f64| rows.iter().find(|row| row.metric == metric && row.is_of(lock, share));
    let (half, free) = (at(0.5)?, at(1.0)?);
    let better = if half.higher_is_better { "higher" } else { "lower" };
    let said = |row: &WhatIfRow| match (row.verdict, row.gain) {
        (Verdict::Gain | Verdict::Loss, Some(_)) => gain(row),
        (Verdict::NoneShown, _) => "nothing measurable".to_owned(),
        (verdict, _) => format!("an unknown amount ({})", verdict.label()),
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

/// `31 % (95 % CI 29 % to 33 %)`.
pub fn gain(row: &WhatIfRow) -> String {
    let ends = row.gain_ci.map_or_else(String::new, |ends| format!(" (95 % CI {})", interval(ends.low, ends.high)));
    row.gain.map_or_else(|| "–".to_owned(), |gain| format!("{}{ends}", signed(gain)))
}

/// A share that can be below nothing.
pub fn signed(share: f64) -> String {
    if share < 0.0 { format!("−{}", percent(-share)) } else { percent(share) }
}

pub fn interval(low: f64, high: f64) -> String {
    format!("{} to {}", signed(low), signed(high))
}
