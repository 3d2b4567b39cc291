//! The machines to compare, with their records: hosts of the archive, records of it, or files.

use crate::commands::archived;
use anyhow::Context;
use archive::{Catalogue, Entry, Location};
use harness::{SharedFlags, UsageError};
use record::{Source, content, is_file, understand};
use std::fmt;
use std::path::Path;

/// A machine and its records.
pub struct Side {
    pub name: String,
    pub records: Vec<Source>,
    /// Whether it has a file, which does not have the machine's name.
    pub is_file: bool,
}

/// The error of records that are in order, but have nothing to compare.
#[derive(Debug)]
pub struct NothingToCompare(pub String);

impl fmt::Display for NothingToCompare {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NothingToCompare {}

/// The maximum number of records of an experiment that are read of a machine, the newest.
const NEWEST: usize = 8;

/// Returns the machines that the words name, or all machines of the archive.
///
/// # Errors
/// A word names nothing, a record cannot be read, or fewer than two machines have records.
pub fn sides(words: &[String], shared: &SharedFlags) -> anyhow::Result<Vec<Side>> {
    if let Some(twice) =
        words.iter().enumerate().find_map(|(place, word)| words[..place].contains(word).then_some(word))
    {
        return Err(UsageError(format!("{twice} is given twice; name each record once")).into());
    }
    let location = Location::of(shared.archive.as_deref());
    let needs_archive = words.is_empty() || !words.iter().all(|word| is_file(record_of(word).1));
    let archive = if needs_archive { archived::at(&location)? } else { None };
    let mut sides: Vec<Side> = Vec::new();
    match (&archive, words) {
        (Some(archive), []) => {
            for host in hosts(archive) {
                add(&mut sides, host, of_host(archive, host)?, false);
            }
        }
        (None, []) => {
            let words = format!("no archive, so there are no machines to compare; {}", advice("one"));
            return Err(NothingToCompare(words).into());
        }
        (_, words) => {
            for word in words {
                let (name, records) = named(word, archive.as_ref())?;
                add(&mut sides, &name, records, is_file(record_of(word).1));
            }
        }
    }
    let words = match &sides[..] {
        [] => format!("the archive has no complete record of any machine; {}", advice("one")),
        [only] => format!("only one machine has records here, {}; {}", only.name, advice(&only.name)),
        _ => return Ok(sides),
    };
    Err(NothingToCompare(words).into())
}

/// Returns the ways to get the records of another machine.
fn advice(known: &str) -> String {
    format!(
        "to add another, run `contend survey --format json --output other.json` on it, and `contend machines {known} \
         other.json` here; `contend fetch HOST` and `contend history pull REMOTE` copy its records"
    )
}

/// Splits NAME=RECORD; a file may have any name.
fn record_of(word: &str) -> (Option<&str>, &str) {
    match word.split_once('=') {
        Some((name, record)) if !is_file(word) && !name.is_empty() => (Some(name), record),
        _ => (None, word),
    }
}

/// Returns the machine that a word names, and its records.
fn named(word: &str, archive: Option<&Catalogue>) -> anyhow::Result<(String, Vec<Source>)> {
    let (name, record) = record_of(word);
    let called = |own: &str| name.unwrap_or(own).to_owned();
    if is_file(record) {
        let (file, content) = content(Path::new(record))?;
        let stem =
            Path::new(&file).file_stem().map_or_else(|| file.clone(), |stem| stem.to_string_lossy().into_owned());
        return Ok((called(&stem), vec![understand(&file, &content)?]));
    }
    let archive = archive.with_context(|| archived::none_for(record))?;
    if hosts(archive).contains(&record) {
        return Ok((called(record), of_host(archive, record)?));
    }
    let (entry, content) = archive
        .recalled(record)
        .with_context(|| format!("{record}: not a machine of the archive, which has {}", hosts(archive).join(", ")))?;
    Ok((called(&entry.summary.host), vec![understand(entry.short_id(), &content)?]))
}

fn add(sides: &mut Vec<Side>, name: &str, records: Vec<Source>, is_file: bool) {
    let place = sides.iter().position(|side| side.name == name).unwrap_or_else(|| {
        sides.push(Side { name: name.to_owned(), records: Vec::new(), is_file });
        sides.len() - 1
    });
    sides[place].is_file |= is_file;
    for record in records {
        let own = &mut sides[place].records;
        if run_of(&record).is_none_or(|run| own.iter().all(|other| run_of(other) != Some(run))) {
            own.push(record);
        }
    }
}

/// Returns the identity of the run: the copy of a record has the same, and does not count again.
fn run_of(record: &Source) -> Option<(&str, u64, u64)> {
    let number = |field: &str| record.environment.get(field)?.as_u64();
    Some((&record.experiment, number("seed")?, number("started_unix_s")?))
}

/// Returns the machines of the archive that have a complete record, in order of appearance.
fn hosts(archive: &Catalogue) -> Vec<&str> {
    let mut hosts: Vec<&str> = Vec::new();
    for entry in archive.entries.iter().filter(|entry| !entry.summary.interrupted) {
        if !hosts.contains(&entry.summary.host.as_str()) {
            hosts.push(&entry.summary.host);
        }
    }
    hosts
}

/// Returns the newest complete records of a host; records of a newer contend are skipped.
fn of_host(archive: &Catalogue, host: &str) -> anyhow::Result<Vec<Source>> {
    let mut chosen: Vec<&Entry> = Vec::new();
    for entry in archive.entries.iter().rev() {
        let is_alike = |other: &&&Entry| other.summary.experiment == entry.summary.experiment;
        if entry.summary.host == host && !entry.summary.interrupted && chosen.iter().filter(is_alike).count() < NEWEST {
            chosen.push(entry);
        }
    }
    let ids: Vec<&str> = chosen.iter().map(|entry| entry.id.as_str()).collect();
    let mut records = Vec::new();
    archive.archive.each(&ids, |place, found| {
        records.extend(found.and_then(|(content, _)| understand(chosen[place].short_id(), &content)).ok());
    })?;
    Ok(records)
}
