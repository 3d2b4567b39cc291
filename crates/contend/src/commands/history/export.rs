//! Export of one record as a file.

use anyhow::Context;
use archive::Catalogue;
use clap::Args;
use harness::{Outcome, output};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Record: the first digits of a hash, last, last~3, or a revision of contend's sources
    #[arg(value_name = "RECORD")]
    record: String,

    /// File to create, which must not exist yet; - prints the record
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn run(flags: &Flags, catalogue: &Catalogue) -> anyhow::Result<Outcome> {
    let (_, content) = catalogue.recalled(&flags.record)?;
    if flags.file.as_os_str() == "-" {
        output::print_json(&String::from_utf8(content)?)?;
        return Ok(Outcome::Done);
    }
    let place = flags.file.display();
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&flags.file)
        .with_context(|| format!("{place}: cannot create a new file there; export does not overwrite files"))?;
    let written = file.write_all(&content).and_then(|()| file.sync_all());
    // A partial record is useless.
    written
        .inspect_err(|_| drop(std::fs::remove_file(&flags.file)))
        .with_context(|| format!("{place}: cannot write the file"))?;
    Ok(Outcome::Done)
}
