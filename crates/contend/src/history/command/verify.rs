//! Every hash, checked.

use super::super::{Archive, Entry};
use crate::cli::Outcome;
use crate::output;
use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Records in files: whether each is, byte for byte, one that was kept
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub fn run(flags: &Flags, archive: &Archive) -> anyhow::Result<Outcome> {
    let (records, mut wrong) = archive.verify()?;
    if wrong.is_empty() && !flags.files.is_empty() {
        let entries = archive.entries()?;
        for file in &flags.files {
            match kept_as(file, archive, &entries)? {
                Ok(entry) => output::print(&format!("{} is record {}\n", file.display(), entry.id))?,
                Err(problem) => wrong.push(format!("{}: {problem}", file.display())),
            }
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n       "));
    }
    output::print(&format!("{records} records, every hash is right\n"))?;
    Ok(Outcome::Done)
}

/// The record that a file is; or, in words, why it is none.
fn kept_as<'a>(file: &Path, archive: &Archive, entries: &'a [Entry]) -> anyhow::Result<Result<&'a Entry, String>> {
    let content = std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let parsed: Value = serde_json::from_slice(&content).unwrap_or_default();
    let environment = &parsed["environment"];
    let run = (environment["seed"].as_u64(), environment["started_unix_s"].as_u64());
    let same_run: Vec<&Entry> =
        entries.iter().filter(|entry| run == (Some(entry.summary.seed), Some(entry.summary.started_unix_s))).collect();
    for entry in &same_run {
        if archive.record(&entry.id)? == content {
            return Ok(Ok(entry));
        }
    }
    Ok(Err(match same_run.first() {
        Some(entry) => format!("it was changed by hand: it differs from record {}, the same run", entry.id),
        None => "no such run is kept here".to_owned(),
    }))
}
