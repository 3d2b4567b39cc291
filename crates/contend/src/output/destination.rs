//! The place that `--output` names, checked before the measurement, written after it.

use super::file::OutputFile;
use super::{Show, complain, csv, print};
use crate::cli::Outcome;
use crate::record::Record;
use crate::session::{Format, SharedFlags};
use crate::terminal::Page;
use anyhow::{Context, bail};
use instruments::warning::Warning;
use serde::Serialize;

/// Where a record is delivered.
pub struct Destination {
    format: Format,
    quiet: bool,
    place: Place,
}

enum Place {
    Stdout,
    File(OutputFile),
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
            Some(path) => Place::File(OutputFile::open("--output", path)?),
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
        match self.place {
            Place::Stdout => Ok(print(content)?),
            Place::File(file) => file.write(content.as_bytes()).or_else(|error| {
                print(content)?;
                Err(error.context("the record was printed instead"))
            }),
        }
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
