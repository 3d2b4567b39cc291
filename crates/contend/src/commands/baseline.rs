//! `contend baseline`: names for records that later records are compared with.

use super::archived;
use crate::output::Destination;
use anyhow::{Context, ensure};
use archive::{Baseline, Catalogue, Location, short};
use clap::{Args, Subcommand};
use harness::{Outcome, SharedFlags, UsageError, output};
use std::path::PathBuf;
use terminal::{Page, counted, moment};

/// Name records that later records are compared with
///
/// A baseline is one record or several; `compare --baseline` refers to it by its name. The newest of several records is
/// compared, and the others show the run-to-run variation. `history push` and `history pull` transfer baselines with
/// the records.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Flags {
    #[command(subcommand)]
    request: Option<Request>,
}

#[derive(Subcommand, Clone, Debug)]
enum Request {
    /// Assign a name to records, replacing any earlier meaning of the name
    Save(Save),
    /// Select the baseline that `compare` uses if none is named
    Use(Named),
    /// List the baselines and their records
    List,
    /// Delete a name and keep its records
    Remove(Named),
    /// Write a baseline and its records to a file for `history pull`
    Export(Export),
}

/// Runs the subcommand.
///
/// # Errors
/// There is no archive, no such baseline or record, or Git fails.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let location = || Location::of(shared.archive.as_deref());
    let catalogue = || archived::open(&location().folder()?);
    match &flags.request {
        None | Some(Request::List) => list(&location(), Destination::of_view(shared)?),
        Some(Request::Save(flags)) => save(flags, &catalogue()?),
        Some(Request::Use(flags)) => set_used(flags, &catalogue()?),
        Some(Request::Remove(flags)) => remove(flags, &catalogue()?),
        Some(Request::Export(flags)) => export(flags, &catalogue()?),
    }
}

/// Returns the readable baselines; the reasons for the others are printed on stderr.
pub fn readable(catalogue: &Catalogue) -> anyhow::Result<Vec<Baseline>> {
    let (good, bad) = catalogue.archive.baselines().all(&catalogue.entries)?;
    archived::complain("was skipped", &bad);
    Ok(good)
}

/// Returns the baseline of this name, or the one in use.
///
/// # Errors
/// It does not exist; the error lists those that do.
pub fn named(all: Vec<Baseline>, name: Option<&str>) -> anyhow::Result<Baseline> {
    let names: Vec<String> = all.iter().map(|baseline| baseline.name.clone()).collect();
    let known = match &names[..] {
        [] => "no baseline exists; `contend baseline save NAME` saves the last record as one".to_owned(),
        names => format!("existing baselines: {}", names.join(", ")),
    };
    match name {
        Some(name) => {
            let found = all.into_iter().find(|baseline| baseline.name == name);
            found.with_context(|| format!("no baseline has the name {name:?}; {known}"))
        }
        None => {
            let found = all.into_iter().find(|baseline| baseline.is_used);
            found.ok_or_else(|| {
                UsageError(format!(
                    "no record to compare with: record A is missing, and no baseline is in use; name two records, as in \
                     `contend compare last~1 last`, or select a baseline with `contend baseline use NAME` ({known})"
                ))
                .into()
            })
        }
    }
}

#[derive(Args, Clone, Debug)]
struct Save {
    /// Name of the baseline: letters, digits, dots, hyphens, underscores
    #[arg(value_name = "NAME")]
    name: String,

    /// Records; several show the run-to-run variation: the first digits of a hash, last, last~3, or a revision of
    /// contend's sources
    #[arg(value_name = "RECORD", default_value = "last")]
    records: Vec<String>,
}

#[derive(Args, Clone, Debug)]
struct Named {
    /// Name of the baseline
    #[arg(value_name = "NAME")]
    name: String,
}

#[derive(Args, Clone, Debug)]
struct Export {
    /// Name of the baseline
    #[arg(value_name = "NAME")]
    name: String,

    /// File to create; it must not exist yet
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

fn save(flags: &Save, catalogue: &Catalogue) -> anyhow::Result<Outcome> {
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

fn set_used(flags: &Named, catalogue: &Catalogue) -> anyhow::Result<Outcome> {
    catalogue.archive.baselines().set_used(&found(&flags.name, catalogue)?.name)?;
    output::print(&format!("{} is now the baseline in use\n", flags.name))?;
    Ok(Outcome::Done)
}

fn remove(flags: &Named, catalogue: &Catalogue) -> anyhow::Result<Outcome> {
    catalogue.archive.baselines().remove(&found(&flags.name, catalogue)?.name)?;
    output::print(&format!("{} was removed; its records stay in the archive\n", flags.name))?;
    Ok(Outcome::Done)
}

fn export(flags: &Export, catalogue: &Catalogue) -> anyhow::Result<Outcome> {
    let baseline = found(&flags.name, catalogue)?;
    let place = flags.file.display();
    ensure!(!flags.file.exists(), "{place}: the file exists; export does not overwrite files");
    catalogue.archive.baselines().export(&baseline, &flags.file)?;
    let records = counted(baseline.records.len(), "record");
    output::print(&format!("{place}: {records}; `contend history pull {place}` imports them\n"))?;
    Ok(Outcome::Done)
}

fn found(name: &str, catalogue: &Catalogue) -> anyhow::Result<Baseline> {
    named(readable(catalogue)?, Some(name))
}

fn list(location: &Location, destination: Destination) -> anyhow::Result<Outcome> {
    // Before the first run there is no archive, which is not a failure.
    let all = archived::at(location)?.map_or_else(|| Ok(Vec::new()), |catalogue| readable(&catalogue))?;
    destination.present(&all, &all, |page| text(&all, page))?;
    Ok(Outcome::Done)
}

fn text(all: &[Baseline], page: &Page) -> String {
    if all.is_empty() {
        return "no baselines; `contend baseline save NAME` saves the last record as one\n".to_owned();
    }
    let line = |baseline: &Baseline| {
        let used = if baseline.is_used { " (in use)" } else { "" };
        let records: Vec<&str> = baseline.records.iter().map(|record| short(record)).collect();
        vec![format!("{}{used}", baseline.name), moment(baseline.saved_unix_s), records.join(" ")]
    };
    page.cut_lines(&terminal::table_of_words(&["baseline", "saved (UTC)", "records"], all.iter().map(line)))
}
