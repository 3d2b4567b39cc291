//! The levels of a series, and the changes where one begins.

use super::series::{Point, Series};
use crate::commands::compare::environment_differences;
use crate::commands::outliers::Machines;
use archive::Archive;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::median;
use instruments::statistics::steps::levels;
use instruments::statistics::{Interval, steps};
use record::{Difference, Unit, understand};
use serde::Serialize;

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
        let found = levels(&values, least_noise(&points));
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
    let error =
        |point: &Point| Estimate { value: point.value, interval: point.value_ci, resolution: point.resolution }.error();
    let errors: Vec<f64> = points.iter().map(error).filter(|error| error.is_finite()).collect();
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
