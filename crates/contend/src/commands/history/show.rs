//! Display of one record, as its measurement printed it, or all of it.

use crate::commands::shown::{Extent, shown};
use crate::output::{Destination, whole_record};
use archive::{Catalogue, Entry, Manifest};
use clap::Args;
use harness::Outcome;
use std::path::Path;
use terminal::moment;

#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Record: the first digits of a hash, last, last~3, or a revision of contend's sources
    #[arg(value_name = "RECORD")]
    record: String,

    /// Show all tables, charts, findings and warnings of the record
    #[arg(long, conflicts_with = "manifest")]
    all: bool,

    /// Show the stored data about the machine and the program instead
    #[arg(long)]
    manifest: bool,
}

/// Shows the record; `named_archive` is the archive where the command line names one.
pub fn run(
    flags: &Flags,
    catalogue: &Catalogue,
    named_archive: Option<&Path>,
    destination: Destination,
) -> anyhow::Result<Outcome> {
    let (archive, entry) = (&catalogue.archive, named(&flags.record, catalogue)?);
    let manifest = archive.manifest(&entry.id)?;
    if flags.manifest {
        let text = serde_json::to_string_pretty(&manifest)? + "\n";
        destination.present(&manifest, std::slice::from_ref(&manifest), |_| text)?;
        return Ok(Outcome::Done);
    }
    let content = archive.record(&entry.id)?;
    let record = record::fields(entry.short_id(), &content)?;
    let whole = whole_record(&entry.id, named_archive);
    let extent = if flags.all { Extent::Whole } else { Extent::AsMeasured(&whole) };
    destination.present_record(&content, &record, |page| {
        Ok(heading(entry, &manifest) + &shown(entry.short_id(), &record, extent, page)?)
    })?;
    Ok(Outcome::Done)
}

/// Returns the record of this name; a file is shown by another command.
fn named<'a>(name: &str, catalogue: &'a Catalogue) -> anyhow::Result<&'a Entry> {
    catalogue.named(name).map_err(|unknown| match Path::new(name).is_file() {
        true => anyhow::anyhow!(
            "{name}: a file, not a name in the archive; `contend report {name} --output page.html` shows it"
        ),
        false => unknown,
    })
}

fn heading(entry: &Entry, manifest: &Manifest) -> String {
    let summary = &entry.summary;
    let build = &manifest.build;
    let words = [build.revision.as_deref(), build.profile.as_deref(), build.compiler.as_deref()];
    let words: Vec<&str> = words.into_iter().flatten().collect();
    format!(
        "record {}\n{} UTC on {}, Linux {}\ncontend {}\nbuilt from {}\n\n",
        entry.id,
        moment(summary.started_unix_s),
        summary.host,
        manifest.kernel.split(' ').next().unwrap_or_default(),
        summary.command_line.join(" "),
        words.join(", ")
    )
}
