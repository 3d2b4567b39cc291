//! Exchange of records with another repository: afterwards each has all records of both.

use crate::commands::archived;
use anyhow::Context;
use archive::{Archive, quoted};
use clap::Args;
use harness::{Outcome, UsageError, output};
use terminal::counted;

#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Git repository: a path, a URL, or user@host:path
    #[arg(value_name = "REMOTE")]
    remote: String,
}

pub fn push(flags: &Flags, archive: &Archive) -> anyhow::Result<Outcome> {
    let remote = remote(flags)?;
    let sent = archive
        .push(remote)
        .with_context(|| format!("{remote}: cannot push the records; `git init --bare` creates an empty repository"))?;
    output::print(&format!("{} pushed or already present\n", counted(sent, "record")))?;
    Ok(Outcome::Done)
}

pub fn pull(flags: &Flags, archive: &Archive) -> anyhow::Result<Outcome> {
    let remote = remote(flags)?;
    let fetched = archive.pull(remote).with_context(|| format!("{remote}: cannot fetch records"))?;
    let refused = fetched.refused.iter().map(|skipped| {
        let remedy =
            format!("`git push {} --delete {}` removes it from there", quoted(remote.as_bytes()), skipped.reference);
        format!("{}: {}; {remedy}", skipped.reference, skipped.reason)
    });
    archived::complain("was not imported", &refused.collect::<Vec<String>>());
    let all = archived::listed(archive.clone())?.entries.len();
    output::print(&format!("{} fetched; {all} in all\n", counted(fetched.taken, "record")))?;
    if !fetched.baselines.is_empty() {
        output::print(&format!("baselines fetched: {}\n", fetched.baselines.join(", ")))?;
    }
    archive.tidy();
    Ok(Outcome::Done)
}

/// Checks the remote: one that starts with a hyphen would be an option to a program on the way.
fn remote(flags: &Flags) -> anyhow::Result<&str> {
    let remote = flags.remote.as_str();
    if remote.is_empty() || remote.starts_with('-') {
        return Err(UsageError(format!(
            "{remote:?}: not a repository; for a directory of this name, write ./{remote}"
        ))
        .into());
    }
    Ok(remote)
}
