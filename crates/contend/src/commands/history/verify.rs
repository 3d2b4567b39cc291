//! Every hash, checked.

use anyhow::{Context, bail};
use archive::{Archive, Likeness, kept_as};
use clap::Args;
use harness::{Outcome, output};
use std::path::PathBuf;

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
            let place = file.display();
            let content = std::fs::read(file).with_context(|| format!("{place} cannot be read"))?;
            match kept_as(&content, archive, &entries)? {
                Likeness::Same(entry) => output::print(&format!("{place} is record {}\n", entry.id))?,
                Likeness::Changed(entry) => wrong.push(format!(
                    "{place}: it was changed by hand: it differs from record {}, the same run",
                    entry.id
                )),
                Likeness::Unknown => wrong.push(format!("{place}: no such run is kept here")),
            }
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n       "));
    }
    output::print(&format!("{records} records, every hash is right\n"))?;
    Ok(Outcome::Done)
}
