//! Metrics for a collector: those of the last run of each experiment on each machine, and of the server itself.

mod rows;
mod samples;

pub use samples::{CLASSIC, OPEN_METRICS, classic};

use archive::{Archive, Entry};
use hyper::StatusCode;
use record::understand;
use samples::{Samples, written};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The metrics with their cache: the samples of the records that were read last.
#[derive(Default)]
pub struct Metrics {
    answered: Mutex<BTreeMap<u16, u64>>,
    read: Mutex<Read>,
}

#[derive(Default)]
struct Read {
    /// The records from which they were read.
    ids: Vec<String>,
    samples: Arc<Samples>,
}

/// The server's metrics about itself.
pub struct Own {
    pub open: usize,
    pub cut: u64,
    pub is_running: bool,
}

impl Metrics {
    pub fn answered(&self, status: StatusCode) {
        *locked(&self.answered).entry(status.as_u16()).or_default() += 1;
    }

    /// Returns all metrics as OpenMetrics text.
    ///
    /// Records are read again only when the last runs have changed.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub fn text(&self, archive: &Archive, own: &Own) -> anyhow::Result<String> {
        let listing = archive.listing()?;
        let last = last_runs(&listing.entries);
        let ids: Vec<String> = last.iter().map(|entry| entry.id.clone()).collect();
        let samples = {
            let mut read = locked(&self.read);
            if read.ids != ids {
                *read = Read { samples: Arc::new(read_samples(archive, &last)?), ids };
            }
            Arc::clone(&read.samples)
        };
        let mut of_server = Samples::default();
        let omitted = "Time series omitted because of the limit of one answer";
        of_server.gauge("contend_serve_omitted_series", omitted, None, &[], samples.omitted as f64);
        of_server.gauge("contend_records", "Records in the archive", None, &[], listing.entries.len() as f64);
        of_server.gauge("contend_serve_connections", "Open connections", None, &[], own.open as f64);
        let running = f64::from(u8::from(own.is_running));
        of_server.gauge(
            "contend_serve_running",
            "Whether an experiment is running that this server started",
            None,
            &[],
            running,
        );
        of_server.counter("contend_serve_cut", "Connections that the server closed early", &[], own.cut);
        for (status, count) in locked(&self.answered).iter() {
            of_server.counter("contend_serve_answers", "Answers", &[("status", status.to_string())], *count);
        }
        written([samples, Arc::new(of_server)])
    }
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The maximum number of runs: the names of machines come from records that clients may have sent.
const MOST: usize = 200;

/// Returns the last run of each experiment on each machine, the newest first.
fn last_runs(entries: &[Entry]) -> Vec<Entry> {
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
fn read_samples(archive: &Archive, last: &[Entry]) -> anyhow::Result<Samples> {
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
                rows::add(&mut samples, host, experiment, rows);
            }
        }
    })?;
    Ok(samples)
}
