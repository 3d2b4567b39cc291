//! Records sent to another repository, and fetched from it: each has what either had.

use anyhow::Context;
use archive::Archive;
use clap::Args;
use harness::{Outcome, output};

#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// A Git repository: a path, a URL, user@host:path
    #[arg(value_name = "REMOTE")]
    remote: String,
}

pub fn push(flags: &Flags, archive: &Archive) -> anyhow::Result<Outcome> {
    archive.push(&flags.remote).with_context(|| {
        format!("{}: the records could not be sent; an empty one is made with `git init --bare`", flags.remote)
    })?;
    output::print(&format!("{} records sent or there already\n", archive.entries()?.len()))?;
    Ok(Outcome::Done)
}

pub fn pull(flags: &Flags, archive: &Archive) -> anyhow::Result<Outcome> {
    let before = archive.entries()?.len();
    archive.pull(&flags.remote).with_context(|| format!("{}: no records could be fetched", flags.remote))?;
    let after = archive.entries()?.len();
    output::print(&format!("{} records fetched; {after} in all\n", after - before))?;
    archive.tidy();
    Ok(Outcome::Done)
}
