//! `contend ladder`: the costs of waiting on this machine, as one picture: as text, as SVG, as rows.

use super::picture;
use super::reading::Reading;
use super::{archived, survey_record};
use crate::output::{Destination, print_or_write};
use anyhow::{Context, bail};
use archive::{Catalogue, Entry, Location, Summary};
use clap::{Args, ValueHint};
use harness::{Outcome, SharedFlags};
use record::{Cost, Ladder, Source, content, is_file, understand};
use serde::Serialize;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use terminal::{Page, escaped};

/// Draw all measured costs on one axis from 1 ns to 10 s
///
/// Each cost has one line: reading the clock, uncontended and contended locks, switches between threads, the longest
/// gaps. A value is drawn with its 95 % confidence interval; hollow marks are the values of documents from 1998 to
/// 2008. A survey has the most costs, and any record of `contend clock`, `latency`, `noise`, `ring` or `core` has some.
/// The last survey is drawn with the user-supplied locks that `contend latency` measured on the same machine. This
/// command measures nothing.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// File with a record (- is standard input), or an archived record [default: the last survey]
    #[arg(value_name = "RECORD", value_hint = ValueHint::FilePath)]
    record: Option<String>,
}

/// The ladder as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    record: &'a str,
    machine: String,
    #[serde(flatten)]
    ladder: &'a Ladder,
}

/// Draws the ladder of a record: as SVG into a file with that suffix, otherwise as text or as `--format`
/// selects.
///
/// # Errors
/// There is no such record, its experiments have no costs, or the picture cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let is_picture = picture::is_requested(shared)?;
    let (source, further) = chosen(flags.record.as_deref(), shared)?;
    let ladder = Reading::of(&source)?.ladder().with_context(|| nothing(&source))?;
    let ladder = with_user_supplied(ladder, &further);
    let machine = report::machine(&source.environment);
    if is_picture {
        let svg = report::ladder_file(&ladder, &machine, report::time(&source.environment).as_deref());
        print_or_write(&svg, shared)?;
        return Ok(Outcome::Done);
    }
    let answer = Answer { record: &source.name, machine, ladder: &ladder };
    Destination::of_view(shared)?.present(&answer, &ladder.costs, |page| letters(&answer, page))?;
    Ok(Outcome::Done)
}

fn nothing(source: &Source) -> String {
    format!(
        "{}: a record of {} has no costs to draw; name a record of survey, clock, latency, noise, ring or core",
        source.name, source.experiment
    )
}

/// Draws a heading, the axis, and a line for each cost.
fn letters(answer: &Answer<'_>, page: &Page) -> String {
    let rest = format!("waiting: {}", answer.machine);
    terminal::wrapped("Costs of", "", &escaped(&rest), page) + &answer.ladder.letters(page)
}

/// The maximum number of records that are searched for user-supplied locks.
const MOST_SEARCHED: usize = 16;

/// Returns the record to draw: the named one, or the last survey of the archive. With the latter come the records of
/// user-supplied locks on the same machine, the newest first.
///
/// # Errors
/// There is no such record, no archive, or no survey in it.
fn chosen(name: Option<&str>, shared: &SharedFlags) -> anyhow::Result<(Source, Vec<Source>)> {
    let only = |source| (source, Vec::new());
    if let Some(file) = name.filter(|name| is_file(name)) {
        let (name, content) = content(Path::new(file))?;
        return understand(&name, &content).map(only);
    }
    let archive = archived::at(&Location::of(shared.archive.as_deref()))?;
    match name {
        Some(name) => archived::recalled(name, archive.as_ref()).map(|(_, source)| only(source)),
        None => last_survey(archive),
    }
}

fn last_survey(archive: Option<Catalogue>) -> anyhow::Result<(Source, Vec<Source>)> {
    const HOW: &str = "run `contend` to make one, or name another record with `contend ladder RECORD`";
    let Some(archive) = archive else { bail!("no survey to draw: there is no archive; {HOW}") };
    let last = archive.entries.iter().rev().find(|entry| entry.summary.experiment == survey_record::NAME);
    let entry = last.with_context(|| format!("no survey to draw: the archive contains none; {HOW}"))?;
    let read = |entry: &Entry| understand(entry.short_id(), &archive.archive.record(&entry.id)?);
    // The path of an object has a slash or the ending of one, in any spelling of the option.
    let names_object =
        |summary: &Summary| summary.command_line.iter().skip(1).any(|word| word.contains('/') || word.contains(".so"));
    let is_further = |other: &&Entry| {
        let summary = &other.summary;
        summary.experiment == "latency" && summary.host == entry.summary.host && names_object(summary)
    };
    // One that cannot be read, perhaps of another version, costs the survey nothing.
    let further = archive.entries.iter().rev().filter(is_further).take(MOST_SEARCHED).flat_map(read);
    Ok((read(entry)?, further.collect()))
}

/// Adds the costs of locks that the records have from shared objects, each from the newest record that has it. A lock that
/// does not exclude there has none. Older records are used as well if their object is the same file: one with one thread
/// has the uncontended lock, and one with two threads the contended one.
fn with_user_supplied(ladder: Ladder, records: &[Source]) -> Ladder {
    let mut costs = ladder.costs;
    let surveyed: HashSet<String> = costs.iter().filter_map(|cost| cost.lock.clone()).collect();
    let mut newest: HashMap<String, Value> = HashMap::new();
    let mut drawn: HashSet<String> = HashSet::new();
    let mut without_cost: HashSet<String> = HashSet::new();
    for source in records {
        let objects = source.parameters.get("object_sha256").and_then(Value::as_object);
        let objects = objects.into_iter().flatten().filter(|(object, _)| !surveyed.contains(*object));
        let known: HashSet<String> = newest.keys().cloned().collect();
        let mut is_newest =
            |object: &String, hash: &Value| newest.entry(object.clone()).or_insert_with(|| hash.clone()) == hash;
        let new: HashSet<String> =
            objects.filter(|(object, hash)| is_newest(object, hash)).map(|(object, _)| object.clone()).collect();
        // A row is in the format of another version.
        let Ok(reading) = Reading::of(source) else { continue };
        let found = reading.ladder().map_or_else(Vec::new, |ladder| ladder.costs);
        // The newest record says whether the lock excludes.
        let has_cost = |object: &String| found.iter().any(|cost| cost.lock.as_ref() == Some(object));
        without_cost.extend(new.iter().filter(|object| !known.contains(*object) && !has_cost(object)).cloned());
        let new: HashSet<&String> = new.iter().filter(|object| !without_cost.contains(*object)).collect();
        let is_new =
            |cost: &Cost| cost.lock.as_ref().is_some_and(|lock| new.contains(lock)) && !drawn.contains(&cost.what);
        let found: Vec<Cost> = found.into_iter().filter(is_new).collect();
        drawn.extend(found.iter().map(|cost| cost.what.clone()));
        let named = |cost: Cost| Cost { figure: format!("{}; record {}", cost.figure, source.name), ..cost };
        costs.extend(found.into_iter().map(named));
    }
    Ladder::of(costs)
}
