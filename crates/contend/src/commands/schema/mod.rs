//! `contend schema`: the JSON schema of records, which a test compares with the types that they are written from.

#[cfg(any(test, feature = "schema"))]
mod choice;
#[cfg(any(test, feature = "schema"))]
mod definitions;
mod document;
mod kinds;
#[cfg(any(test, feature = "schema"))]
mod made;
#[cfg(any(test, feature = "schema"))]
mod survey;

use crate::output::print_or_write;
use clap::Args;
use harness::{Outcome, SharedFlags, UsageError};

/// Print the JSON schema of records (draft 2020-12)
///
/// The schema describes the records that this version of contend writes with --format json. A record of a newer version may have additional
/// fields.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Experiment, such as latency, model frames or survey [default: one schema for all]
    #[arg(value_name = "EXPERIMENT", num_args = 0..=2)]
    experiment: Vec<String>,
}

/// Prints the schema, or writes it to the file that `--output` names.
///
/// # Errors
/// The experiment is unknown, a schema does not have the format, or a file cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let schema = match flags.experiment.join(" ").as_str() {
        "" => document::of_all()?,
        name => document::of(name)?.ok_or_else(|| unknown(name))?,
    };
    print_or_write(&(serde_json::to_string_pretty(&schema)? + "\n"), shared)?;
    Ok(Outcome::Done)
}

fn unknown(name: &str) -> UsageError {
    UsageError(format!("{name}: no such experiment; allowed: {}, or no name for all", kinds::names().join(", ")))
}
