//! The place that `--output` names, checked before the measurement, written after it.

use super::file::OutputFile;
use super::{Show, complain, csv, print};
use crate::cli::{Misuse, Outcome};
use crate::history::{Keeping, Kept};
use crate::record::Record;
use crate::session::{Format, SharedFlags};
use crate::terminal::Page;
use anyhow::{Context, bail};
use instruments::warning::Warning;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// Where a record is delivered.
pub struct Destination {
    format: Format,
    quiet: bool,
    place: Place,
    keeping: Keeping,
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
        Self::with(flags, Keeping::of(flags))
    }

    /// The same for a view of what was kept: it is not kept itself.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn of_view(flags: &SharedFlags) -> anyhow::Result<Self> {
        Self::with(flags, Keeping::nowhere())
    }

    fn with(flags: &SharedFlags, keeping: Keeping) -> anyhow::Result<Self> {
        let place = match &flags.output {
            None => Place::Stdout,
            Some(path) if path.as_os_str() == "-" => Place::Stdout,
            Some(path) => Place::File(OutputFile::open("--output", path)?),
        };
        Ok(Self { format: flags.format, quiet: flags.quiet, place, keeping })
    }

    /// Keeps the record, writes it, and says its warnings on stderr. One that cannot be kept has a warning more.
    ///
    /// # Errors
    /// A record without results, or a file that cannot be written after all: the record is then printed, so that the
    /// measurement is not lost.
    pub fn deliver<P: Serialize + Clone, R: Serialize + Clone>(self, record: &Record<P, R>) -> anyhow::Result<Outcome>
    where
        Record<P, R>: Show,
    {
        let outcome = outcome(record)?;
        if record.results.is_empty() {
            return Ok(outcome);
        }
        let mut record = Cow::Borrowed(record);
        let kept = self.keeping.keep(&record).unwrap_or_else(|warning| {
            record.to_mut().warnings.push(warning);
            None
        });
        let record = record.as_ref();
        let page = self.page();
        let content = match self.format {
            Format::Text if matches!(self.place, Place::Stdout) => match record.closing(&page) {
                Some(closing) => return self.close(&closing, &record.warnings, kept).map(|()| outcome),
                None => record.show(&page),
            },
            Format::Text => record.show(&page),
            Format::Json => serde_json::to_string(record)? + "\n",
            Format::Csv => csv::rows(&record.results)?,
            Format::Ulockflex => record.ulockflex().context("this experiment has no ulockflex layout")?,
        };
        let quiet = self.quiet;
        let written = self.write(&content);
        conclusion(&record.warnings, kept, quiet);
        written.map(|()| outcome)
    }

    /// The warnings first, so that they do not push the closing screen away.
    fn close(self, closing: &str, warnings: &[Warning], kept: Option<Kept>) -> anyhow::Result<()> {
        conclusion(warnings, kept, self.quiet);
        self.write(closing)
    }

    /// Keeps a record whose results were printed as they came, and says its warnings.
    ///
    /// # Errors
    /// A record without results.
    pub fn conclude<P: Serialize, R: Serialize>(self, record: &Record<P, R>) -> anyhow::Result<Outcome> {
        let outcome = outcome(record)?;
        if !record.results.is_empty() {
            let (kept, not_kept) = match self.keeping.keep(record) {
                Ok(kept) => (kept, None),
                Err(warning) => (None, Some(warning)),
            };
            conclusion(record.warnings.iter().chain(&not_kept), kept, self.quiet);
        }
        Ok(outcome)
    }

    /// Writes what a view found: as text, as the JSON of `answer`, or as `rows`.
    ///
    /// # Errors
    /// A format that views have not, or a file that cannot be written.
    pub fn present<A: Serialize, R: Serialize>(
        self,
        answer: &A,
        rows: &[R],
        text: impl FnOnce(&Page) -> String,
    ) -> anyhow::Result<()> {
        let content = match self.format {
            Format::Text => text(&self.page()),
            Format::Json => serde_json::to_string(answer)? + "\n",
            Format::Csv => csv::rows(rows)?,
            Format::Ulockflex => return Err(no_such_layout()),
        };
        self.write(&content)
    }

    /// Writes a record that was kept: as text, or as the JSON that it is.
    ///
    /// # Errors
    /// As [`Self::present`], and a record that cannot be shown.
    pub fn present_record(
        self,
        content: &[u8],
        text: impl FnOnce(&Page) -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        let content = match self.format {
            Format::Text => text(&self.page())?,
            Format::Json => String::from_utf8(content.to_vec())?,
            Format::Csv => {
                let record: Value = serde_json::from_slice(content)?;
                csv::rows(record["results"].as_array().context("the record has no results")?)?
            }
            Format::Ulockflex => return Err(no_such_layout()),
        };
        self.write(&content)
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

/// Says the warnings of a record, and as what it was kept.
fn conclusion<'a>(warnings: impl IntoIterator<Item = &'a Warning>, kept: Option<Kept>, quiet: bool) {
    if !quiet {
        warnings.into_iter().for_each(say);
    }
    if let Some(kept) = kept {
        if !quiet {
            complain(&format!("kept as {}", kept.id));
        }
        kept.tidy();
    }
}

fn no_such_layout() -> anyhow::Error {
    Misuse("--format ulockflex: only `contend throughput` has that layout".into()).into()
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
