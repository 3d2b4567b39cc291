//! The check of every hash, and of the readability of every record.

use crate::commands::reading::metrics;
use crate::commands::shown::{Extent, is_known, shown};
use anyhow::bail;
use archive::{Archive, Catalogue, Entry, StoredAs};
use clap::Args;
use harness::{Outcome, output};
use record::{content, fields, understand};
use serde_json::Value;
use std::path::PathBuf;
use terminal::{Page, counted};

#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Files to check: whether each is, byte for byte, an archived record
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub fn run(flags: &Flags, archive: &Archive) -> anyhow::Result<Outcome> {
    let (records, mut wrong) = archive.verify(read)?;
    if !flags.files.is_empty() {
        let catalogue = Catalogue::of(archive.clone())?;
        for file in &flags.files {
            let (place, content) = content(file)?;
            match catalogue.kept_as(&content) {
                StoredAs::Same(entry) => output::print(&format!("{place} is record {}\n", entry.id))?,
                StoredAs::Changed(entry) => {
                    wrong.push(format!("{place}: modified: it differs from record {}, which is the same run", entry.id))
                }
                StoredAs::Unknown => wrong.push(format!("{place}: the archive has no record of this run")),
            }
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n       "));
    }
    output::print(&format!("{}, all hashes are valid\n", counted(records, "record")))?;
    Ok(Outcome::Done)
}

/// Reads a record as the commands that show it, report it and plot its values do. The experiment of a newer contend is
/// skipped.
fn read(entry: &Entry, content: &[u8]) -> anyhow::Result<()> {
    let record = fields(entry.short_id(), content)?;
    if !is_known(&record) {
        return Ok(());
    }
    shown(entry.short_id(), &record, Extent::Whole, &Page::plain())?;
    // An interrupted record may have no results.
    let has_results = record.get("results").and_then(Value::as_array).is_some_and(|results| !results.is_empty());
    if has_results {
        metrics(&understand(entry.short_id(), content)?)?;
    }
    Ok(())
}
