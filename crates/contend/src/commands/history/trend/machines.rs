//! The series of several machines as readings by which the machines are judged.

use super::series::Series;
use crate::commands::outliers::Reading;
use archive::Entry;
use instruments::statistics::comparison::Estimate;
use std::collections::HashMap;

/// Returns every point, with its machine.
///
/// A series is of one machine, whose name is removed from the cell's.
pub fn readings<'a>(all: impl IntoIterator<Item = &'a Series>, entries: &[Entry]) -> Vec<Reading> {
    let hosts: HashMap<&str, &str> =
        entries.iter().map(|entry| (entry.id.as_str(), entry.summary.host.as_str())).collect();
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
                estimate: Estimate { value: point.value, interval: point.value_ci, resolution: point.resolution },
            });
        }
    }
    found
}

/// Returns the same value on every machine that has records.
pub fn of_figure<'a>(one: &Series, all: &'a [Series], entries: &[Entry]) -> Vec<&'a Series> {
    let hosts: HashMap<&str, &str> =
        entries.iter().map(|entry| (entry.id.as_str(), entry.summary.host.as_str())).collect();
    let name = |series: &Series| (series.experiment.clone(), cell(series, &hosts), series.figure);
    let wanted = name(one);
    all.iter().filter(|series| name(series) == wanted).collect()
}

fn cell(series: &Series, hosts: &HashMap<&str, &str>) -> String {
    let host = series.points.first().and_then(|point| hosts.get(point.record.as_str()));
    let Some(host) = host else { return series.cell.clone() };
    let (own, pieces) = (format!("on {host}"), series.cell.split(", "));
    pieces.filter(|piece| *piece != own).collect::<Vec<&str>>().join(", ")
}
