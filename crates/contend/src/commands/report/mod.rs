//! `contend report`: records on one page that needs no other file. It reads records and never measures.

mod compare;
mod findings;
mod machines;
mod picture;
mod then_and_now;
mod titles;

pub use report::SIGNATURE;

use self::titles::{Named, titles};
use crate::commands::archived;
use crate::commands::compare::prior_archive;
use crate::commands::methods::method;
use crate::commands::picture::Kind;
use crate::commands::reading::{Reading, unknown};
use crate::commands::survey_record::{FINDINGS, THEN_AND_NOW};
use crate::output::print_or_write;
use anyhow::Context;
use archive::{Catalogue, StoredAs, Summary};
use clap::{Args, ValueHint};
use harness::{Outcome, SharedFlags, UsageError};
use record::{Figure, Ladder, Metric, Section, Source, content, is_file, typed, understand};
use report::Content;
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

    /// Write only this chart of one record, as SVG, or as PNG if the name of --output ends in .png. TITLE is its title
    /// in the report, or a part that no other title has
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
    let kind = flags.picture.as_ref().map(|_| Kind::of(shared)).transpose()?.flatten();
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
        kind.unwrap_or(Kind::Svg).write(&picture::of(only, wanted)?, shared)?;
        return Ok(Outcome::Done);
    }
    let metrics = sources.iter().zip(&read).map(|(source, read)| read.metrics(source));
    let metrics = metrics.collect::<anyhow::Result<Vec<Vec<Metric>>>>()?;
    let mut compared = compare::figures(&sources, &metrics, archive.as_ref())?;
    let hosts: Vec<Option<String>> = summaries.iter().map(|known| Some(known.as_ref()?.host.clone())).collect();
    compared.splice(0..0, machines::figure(&sources, &hosts, &metrics));
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
        let (entry, content) = archive.with_context(|| archived::none_for(name))?.recalled(name)?;
        // A later record may be the last one; the page names this one by its ID.
        Ok((understand(entry.short_id(), &content)?, Some(entry.summary)))
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

/// Returns its sections, in the order of the record; a survey has two more.
fn sections_of(source: &Source, read: &Reading) -> anyhow::Result<Vec<Section>> {
    let section = |(experiment, rows): &(String, Vec<Value>)| match experiment.as_str() {
        FINDINGS => Ok(findings::section(&read.findings(rows)?)),
        THEN_AND_NOW => Ok(then_and_now::section(&typed(rows)?)),
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
