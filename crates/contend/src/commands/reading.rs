//! The rows of a record, each experiment's read once for all views.

use super::survey_record::{FINDINGS, THEN_AND_NOW};
use anyhow::Context;
use harness::Rows;
use record::{Cost, Finding, Ladder, Metric, Source, typed};
use serde_json::Value;
use std::collections::BTreeMap;

/// The rows of one experiment, with their indices among all results.
type Part<'a> = (&'a str, Vec<(usize, &'a Value)>);

/// The rows of a record by experiment; unknown experiments are skipped.
pub struct Reading(BTreeMap<&'static str, Box<dyn Rows>>);

impl Reading {
    /// Reads the rows of each experiment.
    ///
    /// # Errors
    /// A row is not in the format of its experiment.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = Part<'a>>) -> anyhow::Result<Self> {
        let mut read = BTreeMap::new();
        for (experiment, rows) in parts {
            if let Some(entry) = experiments::named(experiment) {
                let rows = entry.read(&rows).with_context(|| format!("cannot read the rows of {experiment}"))?;
                read.insert(entry.name, rows);
            }
        }
        Ok(Self(read))
    }

    /// Reads the rows of a record from a file.
    pub fn of(source: &Source) -> anyhow::Result<Self> {
        let parts = source.parts.iter();
        Self::of_parts(parts.map(|(experiment, rows)| (experiment.as_str(), rows.iter().enumerate().collect())))
            .with_context(|| format!("{}: an invalid record", source.name))
    }

    /// Returns the rows of one experiment, if it has any.
    pub fn rows(&self, experiment: &str) -> Option<&dyn Rows> {
        self.0.get(experiment).map(|rows| &**rows)
    }

    /// Returns the ladder; `None` where no experiment of the record has costs.
    ///
    /// It is empty where none of them was measured.
    pub fn ladder(&self) -> Option<Ladder> {
        // The order of the registry remains for equal costs.
        let read = experiments::ALL.iter().filter_map(|entry| Some((entry.name, self.rows(entry.name)?.costs()?)));
        let read: Vec<(&str, Vec<Cost>)> = read.collect();
        let costs = read.iter().flat_map(|(name, costs)| {
            costs.iter().map(move |cost| Cost { experiment: Some((*name).to_owned()), ..cost.clone() })
        });
        (!read.is_empty()).then(|| Ladder::of(costs.collect::<Vec<Cost>>()))
    }

    /// Returns the findings of a survey in this version's words: an older record has the same values in older words.
    ///
    /// A value that this version computes differently keeps its recorded words.
    ///
    /// # Errors
    /// A row is not a finding.
    pub fn findings<'a>(&self, stored: impl IntoIterator<Item = &'a Value>) -> anyhow::Result<Vec<Finding>> {
        let mut found: Vec<Finding> = typed(stored)?;
        let today: BTreeMap<&str, Vec<Finding>> = self.0.iter().map(|(name, rows)| (*name, rows.findings())).collect();
        for finding in &mut found {
            let mut today = today.get(finding.source.experiment.as_str()).into_iter().flatten();
            if let Some(today) = today.find(|today| today.what == finding.what && today.value == finding.value) {
                finding.words.clone_from(&today.words);
                finding.source.cell.clone_from(&today.source.cell);
            }
        }
        Ok(found)
    }

    /// Returns the values of the record that can be compared with other records.
    ///
    /// # Errors
    /// This program does not know the experiment.
    pub fn metrics(&self, source: &Source) -> anyhow::Result<Vec<Metric>> {
        let mut all = Vec::new();
        for (experiment, _) in &source.parts {
            // These only repeat values of a survey's other rows, or compare them with old ones.
            if [FINDINGS, THEN_AND_NOW].contains(&experiment.as_str()) {
                continue;
            }
            let rows = self
                .rows(experiment)
                .with_context(|| format!("cannot compare {}: {}", source.name, unknown(experiment)))?;
            all.extend(rows.metrics().into_iter().map(|metric| Metric { experiment: experiment.clone(), ..metric }));
        }
        Ok(all)
    }
}

/// Returns the message about an unknown experiment.
pub fn unknown(experiment: &str) -> String {
    format!("the experiment {experiment:?} is unknown to this version of contend")
}

/// Returns the values of the record that can be compared with other records.
///
/// # Errors
/// A row is not in the format of its experiment, or this program does not know the experiment.
pub fn metrics(source: &Source) -> anyhow::Result<Vec<Metric>> {
    Reading::of(source)?.metrics(source)
}
