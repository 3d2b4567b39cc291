//! A run's record on its way into the archive.

use super::home::missing_above;
use super::provenance;
use archive::{Archive, Location, Manifest, NotKept, Summary};
use harness::{AnyRecord, SharedFlags};
use instruments::warning::Warning;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Whether and where this run is kept.
pub struct Store(Location);

/// A record that was kept.
pub struct Stored {
    archive: Archive,
    /// Its name.
    pub id: String,
}

impl Stored {
    /// Packs the archive where that is due; when the record has been printed, since it may take a second.
    pub fn tidy(&self) {
        self.archive.tidy();
    }
}

impl Store {
    pub fn of(flags: &SharedFlags) -> Self {
        Self(if flags.no_keep { Location::Nowhere } else { Location::of(flags.archive.as_deref()) })
    }

    /// For what is not a run.
    pub fn nowhere() -> Self {
        Self(Location::Nowhere)
    }

    /// Keeps a record; `None` where that is not wanted.
    ///
    /// # Errors
    /// The warning that says why it was not kept. A measurement is worth printing all the same.
    pub fn keep(&self, record: &AnyRecord) -> Result<Option<Stored>, Box<Warning>> {
        match &self.0 {
            Location::Nowhere => Ok(None),
            Location::Unknown => Err(not_kept("neither XDG_DATA_HOME nor HOME is set".to_owned())),
            Location::Folder(folder) => match missing_above(folder) {
                Some(home) => Err(not_kept(format!("the home folder {} is not there", home.display()))),
                None => Self::keep_below(folder, record),
            },
        }
    }

    fn keep_below(folder: &Path, record: &AnyRecord) -> Result<Option<Stored>, Box<Warning>> {
        Archive::open_or_create(folder)
            .and_then(|archive| Ok(Some(Stored { id: keep_in(&archive, record)?, archive })))
            .map_err(|error| not_kept(one_line(&error)))
    }
}

fn not_kept(reason: String) -> Box<Warning> {
    Box::new(NotKept { reason }.into())
}

fn keep_in(archive: &Archive, record: &AnyRecord) -> anyhow::Result<String> {
    let content = serde_json::to_string(record)? + "\n";
    let manifest = Manifest::of_this_run(provenance::of_this_program(), |path| archive.hash_of(path));
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    archive.append(content.as_bytes(), &manifest, &Summary::of(record, &manifest, now_ns))
}

fn one_line(error: &anyhow::Error) -> String {
    format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ")
}
