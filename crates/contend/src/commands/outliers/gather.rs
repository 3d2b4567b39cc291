//! The input of the judgement of machines: values of records, each with the machine that it comes from.

use crate::commands::parameters;
use crate::commands::reading::metrics;
use archive::{Catalogue, Entry};
use instruments::statistics::comparison::Estimate;
use record::{Metric, Naming, Source, Unit, VariationSource};

/// A value of a record.
pub struct Reading {
    pub host: String,
    pub record: String,
    pub experiment: String,
    pub cell: String,
    pub figure: &'static str,
    pub unit: Unit,
    pub estimate: Estimate,
}

/// The maximum number of records that are read, the newest.
const NEWEST: usize = 200;

/// Returns all values of records, each with its name and machine.
///
/// Computed values are the same everywhere, and omitted.
pub fn readings(records: &[(String, String, Vec<Metric>)]) -> Vec<Reading> {
    let naming = Naming::across(records.iter().flat_map(|(_, _, metrics)| metrics));
    let mut found = Vec::new();
    for (host, record, metrics) in records {
        let measured = metrics.iter().filter(|metric| metric.variation != VariationSource::Computed);
        found.extend(measured.map(|metric| Reading {
            host: host.clone(),
            record: record.clone(),
            experiment: metric.experiment.clone(),
            cell: naming.name(metric),
            figure: metric.figure,
            unit: metric.unit,
            estimate: metric.estimate(),
        }));
    }
    found
}

/// Returns the values of complete records of the archive that have the same parameters as one of these.
pub fn of_archive(catalogue: &Catalogue, alike: [&Source; 2]) -> anyhow::Result<Vec<Reading>> {
    let is_candidate = |entry: &&Entry| {
        !entry.summary.interrupted && alike.iter().any(|source| source.experiment == entry.summary.experiment)
    };
    let entries: Vec<&Entry> = catalogue.entries.iter().rev().filter(is_candidate).take(NEWEST).collect();
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let mut records = Vec::new();
    catalogue.archive.each(&ids, |place, found| {
        let Ok((content, _)) = found else { return };
        let Ok(source) = record::understand("", &content) else { return };
        if alike.iter().any(|one| parameters::are_same(one, &source))
            && let Ok(metrics) = metrics(&source)
        {
            records.push((entries[place].summary.host.clone(), entries[place].id.clone(), metrics));
        }
    })?;
    Ok(readings(&records))
}
