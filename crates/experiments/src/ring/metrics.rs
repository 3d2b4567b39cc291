//! A hop of the token.

use super::record::Row;
use instruments::statistics::comparison::Estimate;
use record::{Cell, Metric, VariationSource};
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
    vec![Metric { variation: VariationSource::Elapsed, alone, ..metric }]
}
