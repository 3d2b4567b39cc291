//! A hop of the token: its time, and its cycles, which are the same where the core runs at another frequency.

use super::record::Row;
use instruments::statistics::comparison::Estimate;
use loops::ring::Class;
use record::{Cell, Metric, Unit, VariationSource};
use terminal::count;

pub fn metrics(row: &Row) -> Vec<Metric> {
    let Some(ns_per_hop) = row.ns_per_hop else { return Vec::new() };
    let laid = row.arrangement.filter(|_| row.large).map(|arrangement| arrangement.label().to_owned());
    let cell = Cell::of([
        row.contestant.clone(),
        laid.unwrap_or_default(),
        if row.pinned { "pinned to one CPU" } else { "free to move" }.to_owned(),
        if row.large { "large ring".to_owned() } else { String::new() },
    ])
    .with("threads", format!("{} threads", count(row.threads as u64)));
    let alone = row.ns_per_hop_alone.map(|ns| Estimate::new(ns, row.ns_per_hop_alone_ci));
    let metric = Metric::time(&cell, "a hop", ns_per_hop, row.ns_per_hop_ci);
    let is_limit = row.class == Class::Limit;
    let variation = if is_limit { VariationSource::Limit } else { VariationSource::Elapsed };
    let time = Metric { variation, alone, ..metric };
    // Far memory takes its time whatever the core's frequency is.
    let cycles = row.cycles().filter(|_| !row.large);
    let cycles = cycles.map(|Estimate { value, interval, .. }| {
        let metric = Metric::time(&cell, "a hop in cycles, core exclusive", value, interval);
        let variation = if is_limit { VariationSource::Limit } else { metric.variation };
        Metric { unit: Unit::Cycles, variation, ..metric }
    });
    std::iter::once(time).chain(cycles).collect()
}

/// To the hundredth: runs lie as near to each other as that.
pub fn cycles_in_words(figure: Estimate) -> String {
    let ends = figure.interval.map(|ends| format!(" ({:.2}–{:.2})", ends.low, ends.high));
    format!("{:.2} cycles{}", figure.value, ends.unwrap_or_default())
}
