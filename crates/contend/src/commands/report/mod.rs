//! `contend report`: records on one page that needs no other file. It reads records and never measures.

mod sections;

pub use report::SIGNATURE;

use super::archived;
use super::compare::prior_archive;
use super::picture::is_requested;
use super::reading::{Reading, unknown};
use super::survey_record::{self, FINDINGS, THEN_AND_NOW};
use crate::output::print_or_write;
use anyhow::Context;
use archive::{Catalogue, StoredAs, Summary};
use clap::{Args, ValueHint};
use harness::{AnyRecord, Outcome, SharedFlags, UsageError};
use record::{Figure, Ladder, Metric, Picture, Section, Source, content, is_file, typed, understand};
use report::{Content, machine, time};
use serde_json::Value;
use std::io::IsTerminal;
use std::path::Path;

/// Write an HTML report of one record, or a comparison of several
///
/// A record is a file that --format json wrote, of any experiment, or an archived record: the first digits of a hash,
/// `last`, `last~3`, or a revision of contend's sources. The report has findings, charts, tables and the method. It is
/// one file: it needs no network, and shows its charts without scripts too.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Files with records (- is standard input), or archived records
    #[arg(value_name = "RECORD", default_value = "last", value_hint = ValueHint::FilePath)]
    records: Vec<String>,

    /// Write only this chart of one record, as SVG. TITLE is its title in the report, or a part that no other title has
    #[arg(long, value_name = "TITLE")]
    picture: Option<String>,
}

/// Reads the records and writes the page, to stdout without `--output`.
///
/// # Errors
/// Flags do not apply to a report, the page would be printed on a terminal, a file is not a record, or the page cannot
/// be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    check(&flags.records, shared.output.as_deref()).map_err(UsageError)?;
    if flags.picture.is_none() && !shared.writes_a_file() && std::io::stdout().is_terminal() {
        let remedy = "the HTML report cannot be printed on a terminal; write it to a file, as with --output page.html";
        return Err(UsageError(remedy.into()).into());
    }
    // A page may have any file name.
    if flags.picture.is_some() {
        is_requested(shared)?;
    }
    // A page of one record needs no other runs, and is made from a file whatever the state of the archive is.
    let is_needed = flags.records.len() > 1 || !is_file(&flags.records[0]);
    let archive = if is_needed { prior_archive(&flags.records, shared)? } else { None };
    let (sources, summaries) = sources(&flags.records, archive.as_ref())?;
    let read = sources.iter().map(Reading::of).collect::<anyhow::Result<Vec<Reading>>>()?;
    let sections = sources.iter().zip(&read).map(|(source, read)| sections_of(source, read));
    let sections = sections.collect::<anyhow::Result<Vec<Vec<Section>>>>()?;
    if let Some(wanted) = &flags.picture {
        let [only] = &sections[..] else {
            return Err(UsageError(format!("--picture {wanted}: needs exactly one record")).into());
        };
        print_or_write(&picture(only, wanted)?, shared)?;
        return Ok(Outcome::Done);
    }
    let metrics = sources.iter().zip(&read).map(|(source, read)| read.metrics(source));
    let metrics = metrics.collect::<anyhow::Result<Vec<Vec<Metric>>>>()?;
    let mut compared = sections::compared(&sources, &metrics, archive.as_ref())?;
    let hosts: Vec<Option<String>> = summaries.iter().map(|known| Some(known.as_ref()?.host.clone())).collect();
    compared.splice(0..0, sections::machines(&sources, &hosts, &metrics));
    let named = sources.iter().zip(&summaries).zip(&flags.records);
    let named =
        named.map(|((source, summary), name)| Named { source, summary: summary.as_ref(), is_file: is_file(name) });
    let titles = titles(&named.collect::<Vec<Named<'_>>>());
    print_or_write(&page(&sources, &titles, &read, &sections, &compared)?, shared)?;
    Ok(Outcome::Done)
}

/// Returns the records, and the summary of each that is in the archive.
fn sources(names: &[String], archive: Option<&Catalogue>) -> anyhow::Result<(Vec<Source>, Vec<Option<Summary>>)> {
    let source = |name: &String| {
        if is_file(name) {
            let (name, content) = content(Path::new(name))?;
            let summary = match archive.map(|archive| archive.kept_as(&content)) {
                Some(StoredAs::Same(entry) | StoredAs::Changed(entry)) => Some(entry.summary),
                Some(StoredAs::Unknown) | None => None,
            };
            return Ok((understand(&name, &content)?, summary));
        }
        archived::recalled(name, archive).map(|(entry, source)| (source, Some(entry.summary)))
    };
    let found = names.iter().map(source).collect::<anyhow::Result<Vec<(Source, Option<Summary>)>>>()?;
    let (sources, summaries): (Vec<Source>, Vec<Option<Summary>>) = found.into_iter().unzip();
    for (place, source) in sources.iter().enumerate() {
        if let Some(same) = sources[..place].iter().position(|other| other.name == source.name) {
            let both = format!("{} and {}: the same record; name each record once", names[same], names[place]);
            return Err(UsageError(both).into());
        }
    }
    Ok((sources, summaries))
}

/// Returns the page of one record in memory, as JSON.
///
/// # Errors
/// It is not a record for a report.
pub fn page_of(name: &str, record: &[u8]) -> anyhow::Result<String> {
    let source = understand(name, record)?;
    let read = Reading::of(&source)?;
    let sections = vec![sections_of(&source, &read)?];
    page(&[source], &[name.to_owned()], &[read], &sections, &[])
}

/// Returns the page of a record that was just measured.
///
/// # Errors
/// It cannot be shown on a page.
pub fn page_of_record(record: &AnyRecord) -> anyhow::Result<String> {
    page_of(&record.experiment, &serde_json::to_vec(record)?)
}

fn page(
    sources: &[Source],
    titles: &[String],
    read: &[Reading],
    sections: &[Vec<Section>],
    compared: &[Figure],
) -> anyhow::Result<String> {
    let ladders: Vec<Option<Ladder>> = read.iter().map(Reading::ladder).collect();
    Ok(report::page(&Content { sources, titles, sections, ladders: &ladders, compared, method: &method }))
}

/// Returns the method of the sections with this name.
fn method(section: &str) -> Option<&'static str> {
    let entry = experiments::ALL.iter().find(|entry| entry.words().0 == section);
    entry.map(|entry| entry.method).or_else(|| (section == survey_record::NAME).then_some(survey_record::METHOD))
}

/// Returns its sections, in the order of the record; a survey has two more.
fn sections_of(source: &Source, read: &Reading) -> anyhow::Result<Vec<Section>> {
    let section = |(experiment, rows): &(String, Vec<Value>)| match experiment.as_str() {
        FINDINGS => Ok(sections::findings(&read.findings(rows)?)),
        THEN_AND_NOW => Ok(sections::then_and_now(&typed(rows)?)),
        other => Ok(read.rows(other).with_context(|| unknown(other))?.section()),
    };
    let sections: anyhow::Result<Vec<Section>> = source.parts.iter().map(section).collect();
    sections.with_context(|| format!("{}: cannot make a report of this record", source.name))
}

/// Checks that the names of the records are distinct, and that the page is not among them.
///
/// # Errors
/// The reason, in words.
fn check(records: &[String], output: Option<&Path>) -> Result<(), String> {
    for (place, name) in records.iter().enumerate() {
        if records[..place].contains(name) {
            return Err(format!("{name} is given twice; name each record once"));
        }
    }
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let page = output.filter(|path| *path != Path::new("-") && path.is_file()).map(resolved);
    match records.iter().find(|name| page.as_ref() == Some(&resolved(Path::new(name)))) {
        Some(name) => Err(format!("--output {name} would overwrite a record; choose another file")),
        None => Ok(()),
    }
}

/// The maximum number of titles in a message.
const SAID: usize = 12;

/// Returns the picture with this title, or the only one whose title contains it, as SVG.
///
/// # Errors
/// None matches, or several do.
fn picture(sections: &[Section], wanted: &str) -> Result<String, UsageError> {
    let figures = sections.iter().flat_map(|section| &section.figures);
    let drawn: Vec<&Figure> = figures.filter(|figure| !matches!(figure.picture, Picture::None)).collect();
    let has = |figure: &&&Figure| figure.title.to_lowercase().contains(&wanted.to_lowercase());
    let found = drawn.iter().find(|figure| figure.title == wanted);
    let close: Vec<&&Figure> = found.map_or_else(|| drawn.iter().filter(has).collect(), |figure| vec![figure]);
    match close[..] {
        [figure] => report::picture_file(figure, sections).ok_or_else(|| none(wanted, &drawn)),
        [] => Err(none(wanted, &drawn)),
        _ => Err(UsageError(format!("--picture {wanted}: several charts match: {}", quoted(close.into_iter())))),
    }
}

fn none(wanted: &str, drawn: &[&Figure]) -> UsageError {
    UsageError(format!("--picture {wanted}: no such chart; the record has {}", quoted(drawn.iter())))
}

fn quoted<'a>(figures: impl ExactSizeIterator<Item = &'a &'a Figure>) -> String {
    let more = figures.len().saturating_sub(SAID);
    let more = (more > 0).then(|| format!("{more} more"));
    figures.take(SAID).map(|figure| format!("\"{}\"", figure.title)).chain(more).collect::<Vec<String>>().join(", ")
}

/// A record of the page.
struct Named<'a> {
    source: &'a Source,
    /// The summary in the archive, if it is there.
    summary: Option<&'a Summary>,
    /// Whether the user named a file.
    is_file: bool,
}

/// Options that do not change a measurement, and whether they have a value.
const OF_OUTPUT: [(&str, bool); 6] =
    [("--output", true), ("-o", true), ("--format", true), ("--page", true), ("--archive", true), ("--quiet", false)];
/// The maximum number of letters of a part.
const ROOM: usize = 72;

/// Returns a title for each record: its file's name; the command, the revision and the machine where these differ; the
/// time where titles would otherwise be equal; and at last the record's name.
fn titles(records: &[Named<'_>]) -> Vec<String> {
    let mut titles: Vec<Vec<String>> = vec![Vec::new(); records.len()];
    if records.iter().all(|record| record.is_file) {
        add_part(&mut titles, files(records));
    }
    for part in [command, revision, host] {
        add_part(&mut titles, records.iter().map(part).collect());
    }
    for part in [begin, file_or_id] {
        if has_equal(&titles) {
            add_part(&mut titles, records.iter().map(part).collect());
        }
    }
    titles.into_iter().map(|parts| parts.join(", ")).collect()
}

/// Adds a part to each title, unless it is the same in all.
fn add_part(titles: &mut [Vec<String>], parts: Vec<Option<String>>) {
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
    if is_unique { short } else { records.iter().map(file_or_id).collect() }
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
    Some(terminal::shortened(&kept.join(" "), ROOM))
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

fn file_or_id(record: &Named<'_>) -> Option<String> {
    Some(record.source.name.clone())
}
