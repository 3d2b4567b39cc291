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
use crate::output;
use crate::reading::{self, Source};
use crate::session::{Format, SharedFlags};
use anyhow::Context;
use clap::Args;
use figure::Section;
use std::path::{Path, PathBuf};

/// Records on one HTML page: findings, pictures, tables, the method; two or more are compared
///
/// Records are what `--format json` writes, of any experiment. The page is one file: it needs no network, and shows its pictures
/// without scripts too.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Files with records; - is standard input
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
}

/// Reads the records and writes the page, to stdout without `--output`.
///
/// # Errors
/// Flags that make no sense for a report, a file that is no record, a page that cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<()> {
    if shared.format != Format::Text {
        return Err(Misuse("--format: a report is always HTML; leave --format out".into()).into());
    }
    check(&flags.records, shared.output.as_deref()).map_err(Misuse)?;
    let sources = flags.records.iter().map(|path| reading::read(path)).collect::<anyhow::Result<Vec<Source>>>()?;
    let sections = sources.iter().map(sections_of).collect::<anyhow::Result<Vec<Vec<Section>>>>()?;
    let compared = compare::figures(&sources)?;
    output::print_or_write(&page::page(&sources, &sections, &compared), shared)
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

/// The paths of the records, each once, and the page not among them.
///
/// # Errors
/// What makes no sense, in words.
fn check(records: &[PathBuf], output: Option<&Path>) -> Result<(), String> {
    for (place, path) in records.iter().enumerate() {
        if records[..place].contains(path) {
            return Err(format!("{} is named twice; name each record once", path.display()));
        }
    }
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let page = output.filter(|path| *path != Path::new("-") && path.is_file()).map(resolved);
    match records.iter().find(|path| page.as_ref() == Some(&resolved(path))) {
        Some(path) => Err(format!("--output {} would overwrite a record; choose another file", path.display())),
        None => Ok(()),
    }
}
