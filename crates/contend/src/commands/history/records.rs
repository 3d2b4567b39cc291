//! Single records of the archive: shown, deleted, exported, exchanged with another repository, and checked.

use crate::commands::archived;
use crate::commands::reading::metrics;
use crate::commands::shown::{Extent, is_known, shown};
use crate::output::{Destination, whole_record};
use anyhow::{Context, bail};
use archive::{Archive, Catalogue, Entry, Manifest, StoredAs, quoted, short};
use clap::Args;
use harness::{Outcome, UsageError, output};
use record::{content, fields, understand};
use serde_json::Value;
use std::fs::{OpenOptions, remove_file};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use terminal::{Page, counted, moment, wrapped};

#[derive(Args, Clone, Debug)]
pub struct Show {
    /// Record: the first digits of a hash, last, last~3, or a revision of contend's sources
    #[arg(value_name = "RECORD")]
    record: String,

    /// Show all tables, charts, findings and warnings of the record
    #[arg(long, conflicts_with = "manifest")]
    all: bool,

    /// Show the stored data about the machine and the program instead
    #[arg(long)]
    manifest: bool,
}

/// Shows the record; `named_archive` is the archive where the command line names one.
pub fn show(
    flags: &Show,
    catalogue: &Catalogue,
    named_archive: Option<&Path>,
    destination: Destination,
) -> anyhow::Result<Outcome> {
    let (archive, entry) = (&catalogue.archive, named(&flags.record, catalogue)?);
    let manifest = archive.manifest(&entry.id)?;
    if flags.manifest {
        let text = serde_json::to_string_pretty(&manifest)? + "\n";
        destination.present(&manifest, std::slice::from_ref(&manifest), |_| text)?;
        return Ok(Outcome::Done);
    }
    let content = archive.record(&entry.id)?;
    let record = fields(entry.short_id(), &content)?;
    let whole = whole_record(&entry.id, named_archive);
    let extent = if flags.all { Extent::Whole } else { Extent::AsMeasured(&whole) };
    destination.present_record(&content, &record, |page| {
        Ok(heading(entry, &manifest, page) + &shown(entry.short_id(), &record, extent, page)?)
    })?;
    Ok(Outcome::Done)
}

/// Returns the record of this name; a file is shown by another command.
fn named<'a>(name: &str, catalogue: &'a Catalogue) -> anyhow::Result<&'a Entry> {
    catalogue.named(name).map_err(|unknown| match Path::new(name).is_file() {
        true => anyhow::anyhow!(
            "{name}: a file, not a name in the archive; `contend report {name} --output page.html` shows it"
        ),
        false => unknown,
    })
}

/// Returns what identifies the run; its command stays on one line, so that it can be copied.
fn heading(entry: &Entry, manifest: &Manifest, page: &Page) -> String {
    let summary = &entry.summary;
    let build = &manifest.build;
    let words = [build.revision.as_deref().map(short_revision), build.profile.clone(), build.compiler.clone()];
    let words: Vec<String> = words.into_iter().flatten().collect();
    let place = format!(
        "{} UTC on {}, Linux {}",
        moment(summary.started_unix_s),
        summary.host,
        manifest.kernel.split(' ').next().unwrap_or_default()
    );
    format!(
        "record {}\n{}contend {}\n{}\n",
        entry.id,
        wrapped("", "  ", &place, page),
        summary.command_line.join(" "),
        wrapped("", "  ", &format!("built from {}", words.join(", ")), page)
    )
}

/// Returns the digits that distinguish a revision, and the `+` of changed sources.
fn short_revision(revision: &str) -> String {
    match revision.strip_suffix('+') {
        Some(hash) => format!("{}+", short(hash)),
        None => short(revision).to_owned(),
    }
}

#[derive(Args, Clone, Debug)]
pub struct Remove {
    /// Records: the first digits of a hash, last, last~3, a revision of contend's sources, or a range with both of its
    /// ends, such as last~9..last. A later `history pull` fetches deleted records again if the other repository has
    /// them
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<String>,

    /// Delete without a question
    #[arg(long, short)]
    yes: bool,
}

pub fn remove(flags: &Remove, catalogue: &Catalogue) -> anyhow::Result<Outcome> {
    let mut chosen: Vec<&Entry> = Vec::new();
    for name in &flags.records {
        for entry in meant(name, catalogue)? {
            if !chosen.iter().any(|one| one.id == entry.id) {
                chosen.push(entry);
            }
        }
    }
    if !flags.yes && !is_confirmed(&chosen)? {
        output::print("nothing was deleted\n")?;
        return Ok(Outcome::Done);
    }
    let ids: Vec<&str> = chosen.iter().map(|entry| entry.id.as_str()).collect();
    catalogue.archive.remove(&ids)?;
    output::print(&format!("deleted: {}\n", counted(ids.len(), "record")))?;
    Ok(Outcome::Done)
}

/// Returns the records of a name, or of a range of names.
fn meant<'a>(name: &str, catalogue: &'a Catalogue) -> anyhow::Result<Vec<&'a Entry>> {
    let Some((from, to)) = name.split_once("..") else { return Ok(vec![catalogue.named(name)?]) };
    let place = |name: &str| -> anyhow::Result<usize> {
        let id = &catalogue.named(name)?.id;
        Ok(catalogue.entries.iter().position(|entry| entry.id == *id).unwrap_or_default())
    };
    let (first, last) = (place(from)?, place(to)?);
    if first > last {
        return Err(UsageError(format!("{name}: the range ends before it begins; write {to}..{from}")).into());
    }
    Ok(catalogue.entries[first..=last].iter().collect())
}

/// Lists the records, and returns whether the user agrees to their deletion.
fn is_confirmed(chosen: &[&Entry]) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        let count = counted(chosen.len(), "record");
        return Err(
            UsageError(format!("history rm: would delete {count}; add --yes, since no terminal can ask")).into()
        );
    }
    for entry in chosen {
        let summary = &entry.summary;
        output::print(&format!(
            "{}  {}  {}\n",
            entry.short_id(),
            moment(summary.started_unix_s),
            summary.command_line.join(" ")
        ))?;
    }
    output::print(&format!("Delete {}? [y/N] ", counted(chosen.len(), "record")))?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

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
        .inspect_err(|_| drop(remove_file(&flags.file)))
        .with_context(|| format!("{place}: cannot write the file"))?;
    Ok(Outcome::Done)
}

#[derive(Args, Clone, Debug)]
pub struct Verify {
    /// Files to check: whether each is, byte for byte, an archived record
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub fn verify(flags: &Verify, archive: &Archive) -> anyhow::Result<Outcome> {
    let (records, mut wrong) = archive.verify(read_as_views_do)?;
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
fn read_as_views_do(entry: &Entry, content: &[u8]) -> anyhow::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn heading_fits_the_page_whatever_its_values() {
        let revision = "0123456789abcdef0123456789abcdef01234567";
        let mut manifest: Manifest = serde_json::from_value(json!({
            "schema": "", "host": "", "boot_id": null, "kernel": "6.18.0-rc7-amd64-with-all-of-the-patches #1 SMP",
            "kernel_command_line": null, "settings": {}, "cgroups": [], "cgroup_limits": {}, "packages": {},
            "build": {
                "revision": revision, "compiler": "rustc 1.99.0-nightly (f2d3ce0bd 2026-03-21)", "profile": "release",
                "target": null
            },
            "program": null
        }))
        .unwrap();
        let entry: Entry = serde_json::from_value(json!({
            "id": revision, "experiment": "latency", "host": "a-machine-of-the-pool.of-the.example.org",
            "started_unix_s": 1_700_000_000, "kept_unix_ns": 0, "revision": null, "command_line": ["latency"],
            "seed": 0, "results": 1, "warnings": 0, "interrupted": false
        }))
        .unwrap();
        let text = heading(&entry, &manifest, &Page::plain());
        assert!(text.contains("\nbuilt from 0123456789, release, rustc"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        manifest.build.revision = Some(format!("{revision}+"));
        assert!(heading(&entry, &manifest, &Page::plain()).contains("\nbuilt from 0123456789+, release"));
    }
}
