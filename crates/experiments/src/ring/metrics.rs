//! A hop of the token.

use super::{Cell, Measure, Scatter};
use crate::experiments::ring::Row;
use crate::terminal::count;

pub fn measure(row: &Row) -> Option<Measure> {
    let laid = row.arrangement.filter(|_| row.large).map(|arrangement| arrangement.words().to_owned());
    let cell = Cell::of([
        row.contestant.clone(),
        laid.unwrap_or_default(),
        if row.pinned { "pinned to one CPU" } else { "free to move" }.to_owned(),
        if row.large { "large ring".to_owned() } else { String::new() },
    ])
    .with("threads", format!("{} threads", count(row.threads as u64)));
    Some(Measure { scatter: Scatter::Elapsed, ..Measure::time(&cell, "a hop", row.ns_per_hop?, row.ns_per_hop_ci) })
}
