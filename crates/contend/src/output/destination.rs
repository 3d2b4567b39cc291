//! The place that `--output` names, checked before the measurement, written after it.

use super::{Show, complain, csv, print};
use crate::cli::Outcome;
use crate::record::Record;
use crate::session::{Format, SharedFlags};
use crate::terminal::Page;
use anyhow::{Context, bail};
use instruments::warning::Warning;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where a record is delivered.
pub struct Destination {
    format: Format,
    quiet: bool,
    place: Place,
}

enum Place {
    Stdout,
    /// Written beside the file and moved over it, so that a reader never sees half a record.
    Regular {
        path: PathBuf,
        draft: NamedTempFile,
    },
    /// A pipe or a device, which cannot be replaced.
    Stream {
        path: PathBuf,
        file: File,
    },
}

impl Destination {
    /// Opens the place, so that one that cannot be written costs no measurement.
    ///
    /// # Errors
    /// The file or its folder cannot be written.
    pub fn open(flags: &SharedFlags) -> anyhow::Result<Self> {
        let place = match &flags.output {
            None => Place::Stdout,
            Some(path) if path.as_os_str() == "-" => Place::Stdout,
            Some(path) => open(path).with_context(|| format!("--output {} cannot be written", path.display()))?,
        };
        Ok(Self { format: flags.format, quiet: flags.quiet, place })
    }

    /// Writes the record and says its warnings on stderr.
    ///
    /// # Errors
    /// A record without results, or a file that cannot be written after all: the record is then printed, so that the
    /// measurement is not lost.
    pub fn deliver<P: Serialize, R: Serialize>(self, record: &Record<P, R>) -> anyhow::Result<Outcome>
    where
        Record<P, R>: Show,
    {
        let outcome = outcome(record)?;
        if record.results.is_empty() {
            return Ok(outcome);
        }
        let page = self.page();
        let content = match self.format {
            Format::Text => record.show(&page),
            Format::Json => serde_json::to_string(record)? + "\n",
            Format::Csv => csv::rows(&record.results)?,
            Format::Ulockflex => record.ulockflex().context("this experiment has no ulockflex layout")?,
        };
        let quiet = self.quiet;
        self.write(&content)?;
        if !quiet {
            record.warnings.iter().for_each(say);
        }
        Ok(outcome)
    }

    /// Says the warnings of a record whose results were printed as they came.
    ///
    /// # Errors
    /// A record without results.
    pub fn conclude<P, R>(self, record: &Record<P, R>) -> anyhow::Result<Outcome> {
        let outcome = outcome(record)?;
        if !self.quiet && !record.results.is_empty() {
            record.warnings.iter().for_each(say);
        }
        Ok(outcome)
    }

    fn page(&self) -> Page {
        if matches!(self.place, Place::Stdout) { Page::of_stdout() } else { Page::plain() }
    }

    fn write(self, content: &str) -> anyhow::Result<()> {
        let (path, written) = match self.place {
            Place::Stdout => return Ok(print(content)?),
            Place::Regular { path, mut draft } => {
                let written = draft
                    .write_all(content.as_bytes())
                    .and_then(|()| draft.as_file().sync_all())
                    .and_then(|()| draft.persist(&path).map(drop).map_err(Into::into));
                (path, written)
            }
            Place::Stream { path, mut file } => {
                // A device cannot be cut short, and need not be.
                let written = file.set_len(0).or(Ok(())).and_then(|()| file.write_all(content.as_bytes()));
                (path, written)
            }
        };
        written.or_else(|error| {
            print(content)?;
            Err(error)
                .with_context(|| format!("{} could not be written; the record was printed instead", path.display()))
        })
    }
}

/// How a measurement with this record ended.
fn outcome<P, R>(record: &Record<P, R>) -> anyhow::Result<Outcome> {
    match (record.results.is_empty(), record.environment.interrupted) {
        (true, false) => bail!("nothing was measured; a longer --seconds may help"),
        (true, true) => {
            complain("interrupted before anything was measured");
            Ok(Outcome::Interrupted)
        }
        (false, true) => Ok(Outcome::Interrupted),
        (false, false) => Ok(Outcome::Done),
    }
}

fn say(warning: &Warning) {
    complain(&format!("warning: {} [{}]\n         {}", warning.message(), warning.code(), warning.remedy()));
}

fn open(path: &Path) -> std::io::Result<Place> {
    // A link is followed: `/dev/stdout` is one, and replacing it would take it from everybody.
    let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = resolved.as_path();
    match path.metadata() {
        Ok(found) if found.is_dir() => Err(std::io::Error::other("it is a folder")),
        Ok(found) if !found.is_file() => in_place(path),
        Ok(_) => {
            // Its folder may allow a new file while the file itself is write-protected, or the other way round.
            OpenOptions::new().append(true).open(path)?;
            draft_beside(path).or_else(|_| in_place(path))
        }
        Err(_) => draft_beside(path),
    }
}

fn in_place(path: &Path) -> std::io::Result<Place> {
    Ok(Place::Stream { path: path.to_owned(), file: OpenOptions::new().write(true).open(path)? })
}

fn draft_beside(path: &Path) -> std::io::Result<Place> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // As a shell's redirection would make it; a temporary file is private otherwise.
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    let draft = tempfile::Builder::new().prefix(".contend-").permissions(permissions).tempfile_in(folder)?;
    Ok(Place::Regular { path: path.to_owned(), draft })
}
