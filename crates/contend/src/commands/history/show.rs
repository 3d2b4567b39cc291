//! One record, as it was shown when it was measured.

use crate::commands::shown::shown;
use crate::output::Destination;
use archive::{Catalogue, Entry, Manifest};
use clap::Args;
use harness::Outcome;
use terminal::moment;

#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Record: the first digits of a hash, last, last~3, or a revision of contend's sources
    #[arg(value_name = "RECORD")]
    record: String,

    /// Show the stored data about the machine and the program instead
    #[arg(long)]
    manifest: bool,
}

pub fn run(flags: &Flags, catalogue: &Catalogue, destination: Destination) -> anyhow::Result<Outcome> {
    let (archive, entry) = (&catalogue.archive, catalogue.named(&flags.record)?);
    let manifest = archive.manifest(&entry.id)?;
    if flags.manifest {
        let text = serde_json::to_string_pretty(&manifest)? + "\n";
        destination.present(&manifest, std::slice::from_ref(&manifest), |_| text)?;
        return Ok(Outcome::Done);
    }
    let content = archive.record(&entry.id)?;
    let record = record::fields(entry.short_id(), &content)?;
    destination.present_record(&content, &record, |page| {
        Ok(heading(entry, &manifest) + &shown(entry.short_id(), &record, page)?)
    })?;
    Ok(Outcome::Done)
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
