//! The archiving of a run's record.

use anyhow::Context;
use archive::{Archive, Build, Location, Manifest, NotKept, Summary};
use blame::names::{Elf, hex};
use harness::{AnyRecord, SharedFlags, output};
use instruments::warning::Warning;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use terminal::without_error_numbers;

/// Whether and where this run is archived.
pub struct Store {
    place: Location,
    /// Whether the user named it, by the flag or by the variable.
    is_named: bool,
}

/// A record that was archived.
pub struct Stored {
    archive: Archive,
    /// The ID of the record.
    pub id: String,
}

impl Stored {
    /// Packs the archive if that is due; called after the record has been printed, since it may take a second.
    pub fn tidy(&self) {
        self.archive.tidy();
    }
}

impl Store {
    pub fn of(flags: &SharedFlags) -> Self {
        let place = if flags.no_keep { Location::Nowhere } else { Location::of(flags.archive.as_deref()) };
        Self { place, is_named: Location::is_named(flags.archive.as_deref()) }
    }

    /// Returns a store that archives nothing, for commands that do not measure.
    pub fn nowhere() -> Self {
        Self { place: Location::Nowhere, is_named: false }
    }

    /// Returns whether archiving is disabled.
    pub fn is_nowhere(&self) -> bool {
        matches!(self.place, Location::Nowhere)
    }

    /// Archives a record; `None` where that is disabled.
    ///
    /// # Errors
    /// The reason why it was not archived. The measurement is printed anyway.
    pub fn keep(&self, record: &AnyRecord) -> Result<Option<Stored>, Refused> {
        let folder = match &self.place {
            Location::Nowhere => return Ok(None),
            Location::Unknown => {
                return Err(Refused::new("neither XDG_DATA_HOME nor HOME is set".to_owned(), false));
            }
            Location::Folder(folder) => folder,
        };
        if let Some(home) = missing_above(folder) {
            return Err(Refused::new(format!("the home directory {} does not exist", home.display()), self.is_named));
        }
        let is_expected = self.is_named || folder.exists();
        Archive::open_or_create(folder)
            .and_then(|archive| Ok(Some(Stored { id: keep_in(&archive, record)?, archive })))
            .map_err(|error| Refused::new(one_line(&error), is_expected))
    }
}

/// A record that was not archived.
pub struct Refused {
    pub warning: Box<Warning>,
    /// Whether the command fails because of it: there is an archive, or one was named, and a later command would find
    /// an older record under the name `last`.
    ///
    /// On a machine without a home directory or without Git no archive is expected.
    pub is_failure: bool,
}

impl Refused {
    fn new(reason: String, is_failure: bool) -> Self {
        Self { warning: Box::new(NotKept { reason }.into()), is_failure }
    }
}

fn keep_in(archive: &Archive, record: &AnyRecord) -> anyhow::Result<String> {
    let content = output::json_line(record)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ns = now.context("the system clock is set to a time before 1970; set it first")?.as_nanos() as u64;
    let manifest = Manifest::of_this_run(build(), |path| build_id(path).or_else(|| archive.hash_of(path)));
    archive.append(content.as_bytes(), &manifest, &Summary::of(record, &manifest, now_ns))
}

/// Returns the ID that the linker derived from the content of a program.
///
/// To read all of it for a hash takes Git half a second.
fn build_id(path: &Path) -> Option<String> {
    const HEADERS: u64 = 4 << 20;
    let id = Elf::open(File::open(path).ok()?, HEADERS)?.build_id()?;
    Some(format!("build-id:{}", hex(&id)))
}

fn one_line(error: &anyhow::Error) -> String {
    without_error_numbers(&format!("{error:#}")).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the build of this program, as the build script noted it.
fn build() -> Build {
    let noted = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty());
    Build {
        revision: noted(env!("CONTEND_REVISION")),
        compiler: noted(env!("CONTEND_COMPILER")),
        profile: noted(env!("CONTEND_PROFILE")),
        target: noted(env!("CONTEND_TARGET")),
    }
}

/// Returns the missing home directory, if the directory would be in it.
///
/// It is never created: a missing one (of a service, of a container) is intended.
pub fn missing_above(folder: &Path) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
    (folder.starts_with(&home) && !home.exists()).then_some(home)
}
