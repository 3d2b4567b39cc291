//! The HTML page of a survey for people, in addition to the record for programs.

use crate::commands::report;
use crate::output::missing_above;
use anyhow::Context;
use archive::Location;
use harness::output::{self, OutputFile};
use harness::{AnyRecord, Format, SharedFlags, UsageError};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The destination of the page.
pub enum PagePlace {
    Nowhere,
    /// The user named the file, and it can be written.
    Named(PathBuf, OutputFile),
    /// A file next to the archive.
    Usual(PathBuf),
}

const NAME: &str = "survey.html";

impl PagePlace {
    /// Checks the destination that the user named before the measurement; without one, `is_off` omits the page.
    ///
    /// # Errors
    /// It cannot be written, or is not a page of this program.
    pub fn of(page: Option<&Path>, is_off: bool, shared: &SharedFlags) -> anyhow::Result<Self> {
        match page {
            Some(path) => {
                check(path, shared)?;
                Ok(Self::Named(path.to_owned(), OutputFile::open("--page", path)?))
            }
            None if is_off => Ok(Self::Nowhere),
            None => Ok(Location::of(shared.archive.as_deref()).sibling_file(NAME).map_or(Self::Nowhere, Self::Usual)),
        }
    }

    /// Writes the page and prints its path.
    ///
    /// A failure is a warning: the record is safe.
    pub fn leave(self, record: &AnyRecord, shared: &SharedFlags) {
        if record.results.is_empty() {
            return;
        }
        match self.write(record) {
            Ok(None) => {}
            Ok(Some(path)) => print_path(&path, shared),
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

/// Returns whether writing there loses nothing: the path does not exist, or is an empty file, a page of this program,
/// or a special file.
fn is_free(path: &Path) -> bool {
    if !path.is_file() {
        return true;
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.is_ok() && (head.is_empty() || String::from_utf8_lossy(&head).contains(report::SIGNATURE))
}

/// The size of the beginning that contains the signature.
const HEAD_BYTES: u64 = 1_024;

/// Prints the last line: on stdout where people read it, otherwise on stderr.
fn print_path(path: &Path, shared: &SharedFlags) {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let line = format!("report: {}", path.display());
    if shared.format == Format::Text && !shared.writes_a_file() {
        // A closed reader is not a failure.
        let _ = output::print(&(line + "\n"));
    } else if !shared.quiet {
        output::eprint_line(&line);
    }
}
