//! Changes of baselines: saving, selecting, removing and exporting names.

use super::known::{named, readable};
use crate::commands::archived;
use anyhow::ensure;
use archive::{Archive, Baseline, Catalogue};
use clap::Args;
use harness::{Outcome, output};
use std::path::PathBuf;
use terminal::counted;

#[derive(Args, Clone, Debug)]
pub struct Save {
    /// Name of the baseline: letters, digits, dots, hyphens, underscores
    #[arg(value_name = "NAME")]
    name: String,

    /// Records; several show the run-to-run variation: the first digits of a hash, last, last~3, or a revision of
    /// contend's sources
    #[arg(value_name = "RECORD", default_value = "last")]
    records: Vec<String>,
}

#[derive(Args, Clone, Debug)]
pub struct Named {
    /// Name of the baseline
    #[arg(value_name = "NAME")]
    name: String,
}

#[derive(Args, Clone, Debug)]
pub struct Export {
    /// Name of the baseline
    #[arg(value_name = "NAME")]
    name: String,

    /// File to create; it must not exist yet
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn save(flags: &Save, catalogue: &Catalogue) -> anyhow::Result<Outcome> {
    let mut records: Vec<&str> = Vec::new();
    for name in &flags.records {
        let entry = catalogue.named(name)?;
        if !records.contains(&entry.id.as_str()) {
            records.push(&entry.id);
        }
    }
    catalogue.archive.baselines().save(&flags.name, &records)?;
    output::print(&format!("{}: {}\n", flags.name, counted(records.len(), "record")))?;
    Ok(Outcome::Done)
}

pub fn set_used(flags: &Named, archive: &Archive) -> anyhow::Result<Outcome> {
    archive.baselines().set_used(&found(&flags.name, archive)?.1.name)?;
    output::print(&format!("{} is now the baseline in use\n", flags.name))?;
    Ok(Outcome::Done)
}

pub fn remove(flags: &Named, archive: &Archive) -> anyhow::Result<Outcome> {
    archive.baselines().remove(&found(&flags.name, archive)?.1.name)?;
    output::print(&format!("{} was removed; its records stay in the archive\n", flags.name))?;
    Ok(Outcome::Done)
}

pub fn export(flags: &Export, archive: &Archive) -> anyhow::Result<Outcome> {
    let (_, baseline) = found(&flags.name, archive)?;
    let place = flags.file.display();
    ensure!(!flags.file.exists(), "{place}: the file exists; export does not overwrite files");
    archive.baselines().export(&baseline, &flags.file)?;
    let records = counted(baseline.records.len(), "record");
    output::print(&format!("{place}: {records}; `contend history pull {place}` imports them\n"))?;
    Ok(Outcome::Done)
}

fn found(name: &str, archive: &Archive) -> anyhow::Result<(Catalogue, Baseline)> {
    let catalogue = archived::listed(archive.clone())?;
    let baseline = named(readable(&catalogue)?, Some(name))?;
    Ok((catalogue, baseline))
}
