//! The deletion of records.

use archive::{Catalogue, Entry};
use clap::Args;
use harness::{Outcome, UsageError, output};
use std::io::{self, IsTerminal};
use terminal::{counted, moment};

#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Records: the first digits of a hash, last, last~3, a revision of contend's sources, or a range with both of its
    /// ends, such as last~9..last. A later `history pull` fetches deleted records again if the other repository has
    /// them
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<String>,

    /// Delete without a question
    #[arg(long, short)]
    yes: bool,
}

pub fn run(flags: &Flags, catalogue: &Catalogue) -> anyhow::Result<Outcome> {
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
