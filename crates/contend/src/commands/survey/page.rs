//! The page that a survey leaves: one HTML file for people, beside the record for programs.

use super::flags::Flags;
use crate::commands::report;
use crate::output::missing_above;
use anyhow::Context;
use archive::Location;
use harness::output::{self, OutputFile};
use harness::{AnyRecord, Format, SharedFlags, UsageError};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Where the page goes.
pub enum PagePlace {
    Nowhere,
    /// The user named the file, and it can be written.
    Named(PathBuf, OutputFile),
    /// Beside the archive.
    Usual(PathBuf),
}

const NAME: &str = "survey.html";

impl PagePlace {
    /// Looks at a place that the user named before anything is measured.
    ///
    /// # Errors
    /// It cannot be written, or has what is no page of this program's.
    pub fn of(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Self> {
        match &flags.page {
            Some(path) => {
                check(path, shared)?;
                Ok(Self::Named(path.clone(), OutputFile::open("--page", path)?))
            }
            None if flags.no_page => Ok(Self::Nowhere),
            None if shared.no_keep => Ok(Self::Nowhere),
            None => Ok(Location::of(shared.archive.as_deref()).beside(NAME).map_or(Self::Nowhere, Self::Usual)),
        }
    }

    /// Writes the page and says where it is. One that cannot be written is a warning: the record is safe.
    pub fn leave(self, record: &AnyRecord, shared: &SharedFlags) {
        if record.results.is_empty() {
            return;
        }
        match self.write(record) {
            Ok(None) => {}
            Ok(Some(path)) => say(&path, shared),
            Err(error) => output::eprint_line(&format!(
                "warning: no HTML report: {error:#}\n         remedy: name another file with --page FILE, or omit the \
                 report with --no-page"
            )),
        }
    }

    fn write(self, record: &AnyRecord) -> anyhow::Result<Option<PathBuf>> {
        let (path, file) = match self {
            Self::Nowhere => return Ok(None),
            Self::Named(path, file) => (path, file),
            Self::Usual(path) => {
                if let Some(home) = missing_above(&path) {
                    anyhow::bail!("the home directory {} does not exist", home.display());
                }
                anyhow::ensure!(is_free(&path), "{}: the existing file is not a report of contend", path.display());
                path.parent()
                    .map_or(Ok(()), fs::create_dir_all)
                    .with_context(|| format!("cannot create the directory of {NAME}"))?;
                let file = OutputFile::open("the report", &path)?;
                (path, file)
            }
        };
        file.write(report::page_of("this run", &serde_json::to_vec(record)?)?.as_bytes())?;
        Ok(Some(path))
    }
}

fn check(path: &Path, shared: &SharedFlags) -> Result<(), UsageError> {
    let shown = path.display();
    if path == Path::new("-") {
        return Err(UsageError(
            "--page -: the HTML report cannot be written to standard output; give a file name".into(),
        ));
    }
    if shared.output.as_deref() == Some(path) {
        return Err(UsageError(format!("--page {shown}: --output writes the record there; name another file")));
    }
    if !is_free(path) {
        return Err(UsageError(format!(
            "--page {shown}: the existing file is not a report of contend; name another file"
        )));
    }
    Ok(())
}

/// Whether nothing is lost by writing there: nothing, an empty file, a page of this program's, or no file at all.
fn is_free(path: &Path) -> bool {
    if !path.is_file() {
        return true;
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.is_ok() && (head.is_empty() || String::from_utf8_lossy(&head).contains(report::SIGNATURE))
}

/// The signature stands in the first lines.
const HEAD_BYTES: u64 = 1_024;

/// The last line: on stdout where people read it, else on stderr.
fn say(path: &Path, shared: &SharedFlags) {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let line = format!("report: {}", path.display());
    if shared.format == Format::Text && !shared.writes_a_file() {
        // That nobody reads it any more is no reason to fail.
        let _ = output::print(&(line + "\n"));
    } else if !shared.quiet {
        output::eprint_line(&line);
    }
}
