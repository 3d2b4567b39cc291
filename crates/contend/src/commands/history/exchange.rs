//! Exchange of records: with another repository, after which each has all records of both, and as a file.

use crate::commands::archived;
use anyhow::Context;
use archive::{Archive, Catalogue, quoted};
use clap::Args;
use harness::{Outcome, UsageError, output};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use terminal::counted;

#[derive(Args, Clone, Debug)]
pub struct Remote {
    /// Git repository: a path, a URL, or user@host:path
    #[arg(value_name = "REMOTE")]
    remote: String,
}

pub fn push(flags: &Remote, archive: &Archive) -> anyhow::Result<Outcome> {
    let remote = remote(flags)?;
    let sent = archive
        .push(remote)
        .with_context(|| format!("{remote}: cannot push the records; `git init --bare` creates an empty repository"))?;
    output::print(&format!("{} pushed or already present\n", counted(sent, "record")))?;
    Ok(Outcome::Done)
}

pub fn pull(flags: &Remote, archive: &Archive) -> anyhow::Result<Outcome> {
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
fn remote(flags: &Remote) -> anyhow::Result<&str> {
    let remote = flags.remote.as_str();
    if remote.is_empty() || remote.starts_with('-') {
        return Err(UsageError(format!(
            "{remote:?}: not a repository; for a directory of this name, write ./{remote}"
        ))
        .into());
    }
    Ok(remote)
}

#[derive(Args, Clone, Debug)]
pub struct Export {
    /// Record: the first digits of a hash, last, last~3, or a revision of contend's sources
    #[arg(value_name = "RECORD")]
    record: String,

    /// File to create, which must not exist yet; - prints the record
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Writes the record, byte for byte, to a new file.
pub fn export(flags: &Export, catalogue: &Catalogue) -> anyhow::Result<Outcome> {
    let (_, content) = catalogue.recalled(&flags.record)?;
    if flags.file.as_os_str() == "-" {
        output::print_json(&String::from_utf8(content)?)?;
        return Ok(Outcome::Done);
    }
    let place = flags.file.display();
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&flags.file)
        .with_context(|| format!("{place}: cannot create a new file there; export does not overwrite files"))?;
    let written = file.write_all(&content).and_then(|()| file.sync_all());
    // A partial record is useless.
    written
        .inspect_err(|_| drop(std::fs::remove_file(&flags.file)))
        .with_context(|| format!("{place}: cannot write the file"))?;
    Ok(Outcome::Done)
}
