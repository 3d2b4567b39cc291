//! The last run of each experiment on each machine.

use super::samples::Samples;
use super::{causes, figures, histograms, neighbour};
use archive::{Archive, Entry};
use record::understand;
use std::collections::BTreeSet;

/// The maximum number of runs: the names of machines come from records that clients may have sent.
const MOST: usize = 200;

/// Returns the last runs, the newest first.
pub fn of(entries: &[Entry]) -> Vec<Entry> {
    let mut seen = BTreeSet::new();
    let is_last = |entry: &&Entry| seen.insert((entry.summary.host.clone(), entry.summary.experiment.clone()));
    entries.iter().rev().filter(|entry| !entry.summary.interrupted).filter(is_last).take(MOST).cloned().collect()
}

/// Returns the samples of these runs.
///
/// A part of a survey counts if there is no newer run of its experiment.
///
/// # Errors
/// Git cannot be run.
pub fn samples(archive: &Archive, last: &[Entry]) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    let mut seen = BTreeSet::new();
    let ids: Vec<&str> = last.iter().map(|entry| entry.id.as_str()).collect();
    archive.each(&ids, |place, found| {
        let entry = &last[place];
        let host = &entry.summary.host;
        let source = found.and_then(|(content, _)| understand(entry.short_id(), &content));
        // A record of a newer contend, or one without results, has no values here.
        let Ok(source) = source else { return };
        let run = [("host", host.clone()), ("experiment", entry.summary.experiment.clone())];
        let began = entry.summary.started_unix_s as f64;
        samples.gauge("contend_run_start", "Start of the last run, as Unix time", Some("seconds"), &run, began);
        for (experiment, rows) in &source.parts {
            if seen.insert((host.clone(), experiment.clone())) {
                figures::add(&mut samples, host, experiment, rows);
                histograms::add(&mut samples, host, experiment, rows);
                causes::add(&mut samples, host, experiment, rows);
                neighbour::add(&mut samples, host, experiment, rows);
            }
        }
    })?;
    Ok(samples)
}
