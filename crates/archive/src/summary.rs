//! The summary of a record in a list: a line of JSON in the commit's message, so that listing opens no record.

use crate::manifest::Manifest;
use record::Record;
use serde::{Deserialize, Serialize};

/// A record in the archive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The commit's hash, which is the record's name.
    pub id: String,
    #[serde(flatten)]
    pub summary: Summary,
}

/// The properties of a record that are known without opening it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub experiment: String,
    pub host: String,
    pub started_unix_s: u64,
    /// The time in nanoseconds, which orders the records.
    pub kept_unix_ns: u64,
    /// The revision of the sources that the binary was built from, with a `+` if they had been changed.
    pub revision: Option<String>,
    pub command_line: Vec<String>,
    pub seed: u64,
    pub results: usize,
    pub warnings: usize,
    pub interrupted: bool,
}

impl Summary {
    pub fn of<P, R>(record: &Record<P, R>, manifest: &Manifest, kept_unix_ns: u64) -> Self {
        let environment = &record.environment;
        Self {
            experiment: record.experiment.clone(),
            host: manifest.host.clone(),
            started_unix_s: environment.started_unix_s,
            kept_unix_ns,
            revision: manifest.build.revision.clone(),
            command_line: environment.command_line.clone(),
            seed: environment.seed,
            results: record.results.len(),
            warnings: record.warnings.len(),
            interrupted: environment.interrupted,
        }
    }
}

impl Entry {
    /// Returns the first digits of the name.
    pub fn short_id(&self) -> &str {
        short(&self.id)
    }
}

/// Returns enough digits to distinguish ten thousand records.
pub fn short(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}
