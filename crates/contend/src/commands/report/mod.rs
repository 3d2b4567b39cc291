//! `contend report`: records on one page that needs nothing else. It reads records and never measures.

mod compare;
mod draw;
mod figure;
mod markup;
mod method;
mod overlay;
mod page;
mod sections;

pub use method::text as method_page;
pub use page::SIGNATURE;

use crate::cli::Misuse;
use crate::history;
use crate::output;
use crate::reading::{self, Source};
use crate::session::{Format, SharedFlags};
use anyhow::Context;
use clap::{Args, ValueHint};
use figure::Section;
use std::path::Path;

/// Records on one HTML page: findings, pictures, tables, the method; two or more are compared
///
/// A record is a file that `--format json` wrote, of any experiment, or one of the archive: the first digits of its hash, `last`,
/// `last~3`, a revision of contend's sources. The page is one file: it needs no network, and shows its pictures without scripts too.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Files with records (- is standard input), or records of the archive
    #[arg(value_name = "RECORD", default_value = "last", value_hint = ValueHint::FilePath)]
    records: Vec<String>,
}

/// Reads the records and writes the page, to stdout without `--output`.
///
/// # Errors
/// Flags that make no sense for a report, what is no record, a page that cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<()> {
    if shared.format != Format::Text {
        return Err(Misuse("--format: a report is always HTML; leave --format out".into()).into());
    }
    check(&flags.records, shared.output.as_deref()).map_err(Misuse)?;
    let sources = sources(&flags.records, shared)?;
    let sections = sources.iter().map(sections_of).collect::<anyhow::Result<Vec<Vec<Section>>>>()?;
    let compared = compare::figures(&sources)?;
    output::print_or_write(&page::page(&sources, &sections, &compared), shared)
}

fn sources(names: &[String], shared: &SharedFlags) -> anyhow::Result<Vec<Source>> {
    let only_files = names.iter().all(|name| reading::is_file(name));
    // An archive that is broken does not stand in the way of files.
    let archive = if only_files { None } else { history::archive(shared)? };
    let source = |name: &String| {
        if reading::is_file(name) {
            let (name, content) = reading::content(Path::new(name))?;
            return reading::understand(&name, &content);
        }
        let (entry, content) = history::recalled(archive.as_ref(), name)?;
        // Tomorrow another one is the last; the page is to say which it was.
        reading::understand(entry.short_id(), &content)
    };
    let sources = names.iter().map(source).collect::<anyhow::Result<Vec<Source>>>()?;
    for (place, source) in sources.iter().enumerate() {
        if let Some(same) = sources[..place].iter().position(|other| other.name == source.name) {
            let both = format!("{} and {} are the same record; name each record once", names[same], names[place]);
            return Err(Misuse(both).into());
        }
    }
    Ok(sources)
}

/// The page of one record that is at hand, as JSON.
///
/// # Errors
/// It is no record for a report.
pub fn page_of(name: &str, record: &[u8]) -> anyhow::Result<String> {
    let source = reading::understand(name, record)?;
    let sections = vec![sections_of(&source)?];
    Ok(page::page(&[source], &sections, &[]))
}

fn sections_of(source: &Source) -> anyhow::Result<Vec<Section>> {
    let typed = source.parts.iter().map(|(experiment, rows)| sections::section(experiment, rows));
    let typed: anyhow::Result<Vec<Section>> = typed.collect();
    typed.with_context(|| format!("{} is no record for a report", source.name))
}

/// The names of the records, each once, and the page not among them.
///
/// # Errors
/// What makes no sense, in words.
fn check(records: &[String], output: Option<&Path>) -> Result<(), String> {
    for (place, name) in records.iter().enumerate() {
        if records[..place].contains(name) {
            return Err(format!("{name} is named twice; name each record once"));
        }
    }
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let page = output.filter(|path| *path != Path::new("-") && path.is_file()).map(resolved);
    match records.iter().find(|name| page.as_ref() == Some(&resolved(Path::new(name)))) {
        Some(name) => Err(format!("--output {name} would overwrite a record; choose another file")),
        None => Ok(()),
    }
}
