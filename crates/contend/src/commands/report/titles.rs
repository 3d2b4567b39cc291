//! The titles of several records on a page: what differs between them, not their hashes.

use archive::Summary;
use record::Source;
use report::{machine, time};
use serde_json::Value;

/// A record of the page.
pub struct Named<'a> {
    pub source: &'a Source,
    /// The summary in the archive, if it is there.
    pub summary: Option<&'a Summary>,
    /// Whether the user named a file.
    pub is_file: bool,
}

/// Options that do not change a measurement, and whether they have a value.
const OF_OUTPUT: [(&str, bool); 6] =
    [("--output", true), ("-o", true), ("--format", true), ("--page", true), ("--archive", true), ("--quiet", false)];
/// The maximum number of letters of a part.
const ROOM: usize = 72;

/// Returns a title for each record: its file's name; the command, the revision and the machine where these differ; the
/// time where titles would otherwise be equal; and at last the record's name.
pub fn titles(records: &[Named<'_>]) -> Vec<String> {
    let mut titles: Vec<Vec<String>> = vec![Vec::new(); records.len()];
    if records.iter().all(|record| record.is_file) {
        add(&mut titles, files(records));
    }
    for part in [command, revision, host] {
        add(&mut titles, records.iter().map(part).collect());
    }
    for part in [begin, name] {
        if has_equal(&titles) {
            add(&mut titles, records.iter().map(part).collect());
        }
    }
    titles.into_iter().map(|parts| parts.join(", ")).collect()
}

/// Adds a part to each title, unless it is the same in all.
fn add(titles: &mut [Vec<String>], parts: Vec<Option<String>>) {
    if parts.iter().all(|part| *part == parts[0]) {
        return;
    }
    titles.iter_mut().zip(parts).for_each(|(title, part)| title.extend(part));
}

fn has_equal(titles: &[Vec<String>]) -> bool {
    (0..titles.len()).any(|place| titles[place].is_empty() || titles[..place].contains(&titles[place]))
}

/// Returns the files' names without directories, where these are unique.
fn files(records: &[Named<'_>]) -> Vec<Option<String>> {
    let last = |record: &Named<'_>| record.source.name.rsplit('/').next().map(str::to_owned);
    let short: Vec<Option<String>> = records.iter().map(last).collect();
    let is_unique = (0..short.len()).all(|place| !short[..place].contains(&short[place]));
    if is_unique { short } else { records.iter().map(name).collect() }
}

fn command(record: &Named<'_>) -> Option<String> {
    let words = record.source.environment.get("command_line")?.as_array()?;
    let mut kept = vec!["contend"];
    let mut words = words.iter().filter_map(Value::as_str);
    while let Some(word) = words.next() {
        match OF_OUTPUT.iter().find(|(option, _)| *option == word) {
            Some((_, has_value)) => {
                if *has_value {
                    words.next();
                }
            }
            None => kept.push(word),
        }
    }
    let whole = kept.join(" ");
    Some(if whole.chars().count() > ROOM { whole.chars().take(ROOM - 1).chain(['…']).collect() } else { whole })
}

fn revision(record: &Named<'_>) -> Option<String> {
    let revision = record.summary?.revision.as_deref()?;
    Some(format!("contend {}", archive::short(revision)))
}

fn host(record: &Named<'_>) -> Option<String> {
    Some(record.summary.map_or_else(|| machine(&record.source.environment), |summary| summary.host.clone()))
}

fn begin(record: &Named<'_>) -> Option<String> {
    time(&record.source.environment)
}

fn name(record: &Named<'_>) -> Option<String> {
    Some(record.source.name.clone())
}
