//! The series of each value of each cell.

use crate::commands::reading::metrics;
use archive::{Archive, Entry};
use instruments::statistics::Interval;
use record::{Metric, Naming, Unit, VariationSource, understand};
use serde::Serialize;
use std::collections::BTreeMap;

/// One value of one cell over the records.
#[derive(Debug, Serialize)]
pub struct Series {
    pub experiment: String,
    pub cell: String,
    pub figure: &'static str,
    #[serde(rename = "unit")]
    pub unit_name: &'static str,
    /// The points, the oldest first.
    pub points: Vec<Point>,
    /// The number of records in which it is 0 or less: a ratio to them is meaningless.
    pub not_positive: usize,
    #[serde(skip)]
    pub unit: Unit,
    /// Whether it is computed, and so the same on every machine.
    #[serde(skip)]
    pub is_computed: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Point {
    pub record: String,
    pub started_unix_s: u64,
    pub value: f64,
    pub value_ci: Option<Interval>,
    /// The step of the clock that it was read from.
    pub resolution: f64,
    /// The level that the point is in: A, B, …
    pub level: Option<char>,
}

impl Series {
    /// Returns its name on the command line.
    pub fn name(&self) -> String {
        format!("{}: {}: {}", self.experiment, self.cell, self.figure)
    }
}

/// Returns all series of these records, and the number of records that this contend cannot read.
///
/// Runs on several machines, or with several settings of the work, are separate series.
pub fn series(archive: &Archive, entries: &[Entry]) -> anyhow::Result<(Vec<Series>, usize)> {
    let mut read: Vec<(&Entry, Vec<Metric>)> = Vec::new();
    let whole: Vec<&Entry> = entries.iter().filter(|entry| !entry.summary.interrupted).collect();
    let ids: Vec<&str> = whole.iter().map(|entry| entry.id.as_str()).collect();
    archive.each(&ids, |place, found| {
        let entry = whole[place];
        let found = found.and_then(|(content, _)| metrics(&understand(entry.short_id(), &content)?));
        read.extend(found.ok().map(|metrics| (entry, on_its_machine(entry, metrics))));
    })?;
    let unreadable = whole.len() - read.len();
    let naming = Naming::across(read.iter().flat_map(|(_, metrics)| metrics));
    let mut found: BTreeMap<(String, String, &'static str), Series> = BTreeMap::new();
    for (entry, metrics) in &read {
        for metric in metrics {
            // The value with the core exclusive is another series: a series of both would jump when one of them is
            // missing.
            let alone = metric.alone().map(|alone| Metric { cell: alone.cell.clone().alone(), ..alone });
            for metric in alone.iter().chain([metric]) {
                let key = (metric.experiment.clone(), naming.name(metric), metric.figure);
                found.entry(key.clone()).or_insert_with(|| Series::of(metric, key.1)).add(entry, metric);
            }
        }
    }
    Ok((found.into_values().collect(), unreadable))
}

fn on_its_machine(entry: &Entry, metrics: Vec<Metric>) -> Vec<Metric> {
    let with_host = |metric: Metric| Metric {
        cell: metric.cell.clone().with("host", format!("on {}", entry.summary.host)),
        ..metric
    };
    metrics.into_iter().map(with_host).collect()
}

impl Series {
    fn of(metric: &Metric, cell: String) -> Self {
        Self {
            experiment: metric.experiment.clone(),
            cell,
            figure: metric.figure,
            unit_name: metric.unit.unit(),
            points: Vec::new(),
            not_positive: 0,
            unit: metric.unit,
            is_computed: metric.variation == VariationSource::Computed,
        }
    }

    fn add(&mut self, entry: &Entry, metric: &Metric) {
        if metric.value <= 0.0 {
            self.not_positive += 1;
            return;
        }
        self.points.push(Point {
            record: entry.id.clone(),
            started_unix_s: entry.summary.started_unix_s,
            value: metric.value,
            value_ci: metric.interval,
            resolution: metric.resolution,
            level: None,
        });
    }
}
