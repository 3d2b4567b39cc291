//! The list of records, a line each.

use super::selection::Selection;
use crate::commands::archived;
use crate::output::Destination;
use anyhow::ensure;
use archive::{Entry, Location, Summary};
use clap::Args;
use harness::Outcome;
use instruments::statistics::outlier::LEAST_MACHINES;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use terminal::{Page, moment};

/// The records to list.
#[derive(Args, Clone, Debug)]
pub struct Filter {
    /// Only records of this experiment, such as latency
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,

    #[command(flatten)]
    pub selection: Selection,
}

impl Filter {
    /// Returns the selected entries.
    ///
    /// # Errors
    /// `--since` is not a moment.
    pub fn of(&self, entries: Vec<Entry>) -> anyhow::Result<Vec<Entry>> {
        self.selection.of(self.experiment.as_deref(), entries)
    }
}

/// Prints the list; `is_named` means that the user named the archive in this call.
pub fn run(filter: &Filter, folder: &Path, is_named: bool, destination: Destination) -> anyhow::Result<Outcome> {
    let (found, place) = (archived::at(&Location::Folder(folder.to_owned()))?, folder.display());
    // Before the first run there is no archive, which is not a failure; a missing archive that was named is.
    let is_there = found.is_some();
    let all = found.map_or_else(Vec::new, |catalogue| catalogue.entries);
    let available = available(&all);
    // An invalid filter is reported first: the flags are wrong wherever the archive is.
    let entries = filter.of(all)?;
    ensure!(is_there || !is_named, "{place}: no archive; the first run with --archive {place} creates one");
    let none = || match is_there {
        true => format!("no matching records in {place}\n{available}"),
        false => format!("no archive yet in {place}; the first run creates one\n"),
    };
    destination.present(&entries, &entries, |page| if entries.is_empty() { none() } else { text(&entries, page) })?;
    Ok(Outcome::Done)
}

/// Returns the available records, for a user that requested others.
fn available(all: &[Entry]) -> String {
    let names = |name: fn(&Summary) -> &str| {
        let names: BTreeSet<&str> = all.iter().map(|entry| name(&entry.summary)).collect();
        names.into_iter().collect::<Vec<&str>>().join(", ")
    };
    let Some(last) = all.iter().map(|entry| entry.summary.started_unix_s).max() else { return String::new() };
    let experiments = names(|summary| &summary.experiment);
    let machines = names(|summary| &summary.host);
    format!("experiments in it: {experiments}\nmachines: {machines}\nlast record: {}\n", moment(last))
}

fn text(entries: &[Entry], page: &Page) -> String {
    let line = |entry: &Entry| {
        let summary = &entry.summary;
        let interrupted = if summary.interrupted { " (interrupted)" } else { "" };
        let host: String = summary.host.chars().take(16).collect();
        vec![
            entry.short_id().to_owned(),
            moment(summary.started_unix_s),
            host,
            format!("{}{interrupted}", called(summary)),
        ]
    };
    let table =
        terminal::table_of_words(&["record", "started (UTC)", "machine", "contend …"], entries.iter().map(line));
    let lines: Vec<String> = table.lines().map(|line| page.cut(line)).collect();
    lines.join("\n") + "\n" + &by_machine(entries, page)
}

/// Draws a line for each of several machines: a list opens no record, so that it cannot determine which one is an
/// outlier.
fn by_machine(entries: &[Entry], page: &Page) -> String {
    let mut machines: BTreeMap<&str, Vec<&Summary>> = BTreeMap::new();
    for entry in entries {
        machines.entry(&entry.summary.host).or_default().push(&entry.summary);
    }
    if machines.len() < 2 {
        return String::new();
    }
    let count = machines.len();
    let line = |(host, records): (&str, Vec<&Summary>)| {
        let begun = || records.iter().map(|summary| summary.started_unix_s);
        let ends = [begun().min(), begun().max()].map(|begun| moment(begun.unwrap_or(0)));
        [host.to_owned(), records.len().to_string()].into_iter().chain(ends).collect::<Vec<String>>()
    };
    let table = terminal::table_of_words(&["machine", "records", "from", "to"], machines.into_iter().map(line));
    let lines: String = table.lines().map(|line| page.cut(line) + "\n").collect();
    let advice = if count < LEAST_MACHINES { "" } else { "`contend history trend` reports outliers among them.\n" };
    format!("\n{lines}{advice}")
}

/// Returns the words after `contend`; a survey needs none.
fn called(summary: &Summary) -> String {
    match summary.command_line[..] {
        [] => summary.experiment.clone(),
        ref words => words.join(" "),
    }
}
