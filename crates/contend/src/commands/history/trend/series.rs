//! The series of each value of each cell over the records, the levels of a series, and the changes where a level
//! begins.

use crate::commands::compare::environment_differences;
use crate::commands::outliers::{Machines, Reading};
use crate::commands::reading::metrics;
use archive::{Archive, Entry};
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::median;
use instruments::statistics::{Interval, steps};
use record::{Difference, Metric, Naming, Unit, VariationSource, understand};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

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

impl Point {
    fn estimate(&self) -> Estimate {
        Estimate { value: self.value, interval: self.value_ci, resolution: self.resolution }
    }
}

impl Series {
    /// Returns its name on the command line.
    pub fn name(&self) -> String {
        name(&self.experiment, &self.cell, self.figure)
    }
}

/// Returns the name of a series on the command line.
pub fn name(experiment: &str, cell: &str, figure: &str) -> String {
    format!("{experiment}: {cell}: {figure}")
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

#[derive(Serialize)]
pub struct Trend {
    pub experiment: String,
    pub cell: String,
    pub figure: &'static str,
    #[serde(rename = "unit")]
    pub unit_name: &'static str,
    pub levels: Vec<Level>,
    pub points: Vec<Point>,
    /// The number of records that are excluded because the value is 0 there, …
    pub not_positive: usize,
    /// … or because this contend cannot read them.
    pub unreadable: usize,
    /// The same value on all machines, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<Machines>,
    #[serde(skip)]
    pub unit: Unit,
}

/// Consecutive records without a step between them.
#[derive(Serialize)]
pub struct Level {
    pub letter: char,
    pub first_record: String,
    pub first_started_unix_s: u64,
    pub last_record: String,
    pub last_started_unix_s: u64,
    pub records: usize,
    pub median: f64,
    pub median_ci: Option<Interval>,
    /// The ratio to the level before.
    pub ratio: Option<f64>,
    pub ratio_ci: Option<Interval>,
    /// The changes between the last record before and the first of this level.
    ///
    /// A simultaneous change need not be the cause.
    pub changed: Vec<Difference>,
}

impl Trend {
    /// Finds the levels, and the changes between them.
    pub fn of(series: &Series, unreadable: usize, archive: &Archive) -> anyhow::Result<Self> {
        let mut points = series.points.clone();
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        let found = steps::levels(&values, least_noise(&points));
        let letters = ('A'..='Z').chain('a'..='z').cycle();
        let mut described = Vec::new();
        for (letter, level) in letters.zip(&found) {
            points[level.from..level.to].iter_mut().for_each(|point| point.level = Some(letter));
            described.push(Level::of(letter, level, &points, archive)?);
        }
        Ok(Self {
            experiment: series.experiment.clone(),
            cell: series.cell.clone(),
            figure: series.figure,
            unit_name: series.unit_name,
            levels: described,
            points,
            not_positive: series.not_positive,
            unreadable,
            machines: None,
            unit: series.unit,
        })
    }
}

/// Returns the uncertainty that the records themselves state.
fn least_noise(points: &[Point]) -> f64 {
    let errors: Vec<f64> =
        points.iter().map(|point| point.estimate().error()).filter(|error| error.is_finite()).collect();
    median(&errors).unwrap_or(0.0)
}

impl Level {
    fn of(letter: char, level: &steps::Level, points: &[Point], archive: &Archive) -> anyhow::Result<Self> {
        let (first, last) = (&points[level.from], &points[level.to - 1]);
        let before = level.from.checked_sub(1).map(|before| &points[before]);
        let changed = before.map(|before| changed(archive, &before.record, &first.record)).transpose()?;
        Ok(Self {
            letter,
            first_record: first.record.clone(),
            first_started_unix_s: first.started_unix_s,
            last_record: last.record.clone(),
            last_started_unix_s: last.started_unix_s,
            records: level.to - level.from,
            median: level.median,
            median_ci: level.interval,
            ratio: level.step.map(|step| step.estimate),
            ratio_ci: level.step.map(|step| step.interval),
            changed: changed.unwrap_or_default(),
        })
    }
}

fn changed(archive: &Archive, before: &str, after: &str) -> anyhow::Result<Vec<Difference>> {
    let read = |id: &str| anyhow::Ok((understand(id, &archive.record(id)?)?, archive.manifest(id)?));
    let ((source_before, manifest_before), (source_after, manifest_after)) = (read(before)?, read(after)?);
    Ok(environment_differences([&source_before, &source_after], [Some(&manifest_before), Some(&manifest_after)]))
}

/// Returns every point, with its machine, as a reading by which the machines are judged.
///
/// A series is of one machine, whose name is removed from the cell's.
pub fn readings<'a>(all: impl IntoIterator<Item = &'a Series>, entries: &[Entry]) -> Vec<Reading> {
    let hosts = hosts(entries);
    let mut found = Vec::new();
    for series in all.into_iter().filter(|series| !series.is_computed) {
        let cell = cell(series, &hosts);
        for point in &series.points {
            let Some(host) = hosts.get(point.record.as_str()) else { continue };
            found.push(Reading {
                host: (*host).to_owned(),
                record: point.record.clone(),
                experiment: series.experiment.clone(),
                cell: cell.clone(),
                figure: series.figure,
                unit: series.unit,
                estimate: point.estimate(),
            });
        }
    }
    found
}

/// Returns the same value on every machine that has records.
pub fn of_figure<'a>(one: &Series, all: &'a [Series], entries: &[Entry]) -> Vec<&'a Series> {
    let hosts = hosts(entries);
    let name = |series: &Series| (series.experiment.clone(), cell(series, &hosts), series.figure);
    let wanted = name(one);
    all.iter().filter(|series| name(series) == wanted).collect()
}

/// Returns the machine of each record, by the record's ID.
fn hosts(entries: &[Entry]) -> HashMap<&str, &str> {
    entries.iter().map(|entry| (entry.id.as_str(), entry.summary.host.as_str())).collect()
}

/// Returns the name of a series' cell without its machine.
fn cell(series: &Series, hosts: &HashMap<&str, &str>) -> String {
    let host = series.points.first().and_then(|point| hosts.get(point.record.as_str()));
    let Some(host) = host else { return series.cell.clone() };
    let (own, pieces) = (format!("on {host}"), series.cell.split(", "));
    pieces.filter(|piece| *piece != own).collect::<Vec<&str>>().join(", ")
}
