//! `contend report`: records on one page that needs nothing else. It reads records and never measures.

mod compare;
mod draw;
mod figure;
mod markup;
mod method;
mod moment;
mod overlay;
mod page;
mod sections;
mod source;

pub use method::text as method_page;
pub use page::SIGNATURE;

use crate::cli::Misuse;
use crate::output;
use crate::session::{Format, SharedFlags};
use anyhow::Context;
use clap::Args;
use figure::Section;
use source::Source;
use std::path::PathBuf;

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
    source::check(&flags.records, shared.output.as_deref()).map_err(Misuse)?;
    let mut sources = flags.records.iter().map(|path| source::read(path)).collect::<anyhow::Result<Vec<Source>>>()?;
    let sections = sources.iter_mut().map(sections_of).collect::<anyhow::Result<Vec<Vec<Section>>>>()?;
    output::print_or_write(&page::page(&sources, &sections), shared)
}

/// The page of one record that is at hand, as JSON.
///
/// # Errors
/// It is no record for a report.
pub fn page_of(name: &str, record: &[u8]) -> anyhow::Result<String> {
    let mut source = source::understand(name, record)?;
    let sections = vec![sections_of(&mut source)?];
    Ok(page::page(&[source], &sections))
}

fn sections_of(source: &mut Source) -> anyhow::Result<Vec<Section>> {
    let parts = std::mem::take(&mut source.parts);
    let typed = parts.into_iter().map(|(experiment, rows)| sections::section(&experiment, rows));
    let typed: anyhow::Result<Vec<Section>> = typed.collect();
    typed.with_context(|| format!("{} is no record for a report", source.name))
}
