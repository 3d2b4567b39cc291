//! `contend explain`: the pages of the kinds of problem that `contend trace` names by a code, and the diagnosis of a trace that
//! was saved.

use super::shown::{Extent, shown};
use crate::output::{Destination, print_or_write};
use clap::{Args, ValueHint};
use experiments::{Rule, SavedTrace};
use harness::{Outcome, SharedFlags, UsageError};
use serde_json::Value;
use std::path::Path;

/// Explain a finding's code, or diagnose a saved trace again
///
/// The code of a finding of `contend trace` is in brackets behind it, and in the field `rule` of its row: its page says what was
/// seen, what that needs, and what refutes it. A file is what `contend trace --save FILE` wrote, on this machine or another: it is
/// diagnosed again, from the evidence in it. Without an argument, the command lists all codes.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Code of a finding, such as holder_blocked, or a file of `contend trace --save` [default: a list of all codes]
    #[arg(value_name = "CODE|FILE", value_hint = ValueHint::FilePath)]
    what: Option<String>,

    /// Print all tables and histograms of a saved trace after the diagnosis
    #[arg(long, requires = "what")]
    all: bool,
}

/// Prints the page of a code, the list of all codes, or the diagnosis of a saved trace, or writes it to the file that `--output`
/// names.
///
/// # Errors
/// It is neither a code nor such a file, or the output cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let page = flags.what.as_deref().map(page);
    match (&flags.what, page) {
        (None, _) => print_or_write(&list(), shared)?,
        (_, Some(Some(page))) => print_or_write(&page, shared)?,
        (Some(what), _) if Path::new(what).exists() => diagnose(what, flags.all, shared)?,
        (Some(what), _) => {
            return Err(UsageError(format!(
                "{what}: no such code and no such file; `contend explain` lists all codes, such as {}",
                Rule::HolderBlocked.code()
            ))
            .into());
        }
    }
    Ok(Outcome::Done)
}

/// Returns the page of a code; `None` if it is none.
fn page(code: &str) -> Option<String> {
    // As it is printed with a finding, and as one may type it.
    let plain = code.trim_matches(['[', ']']).replace('-', "_").to_lowercase();
    Some(Rule::of(&plain)?.page().replace("**", ""))
}

fn list() -> String {
    let widest = Rule::ALL.iter().map(|rule| rule.code().len()).max().unwrap_or(0);
    Rule::ALL.iter().map(|rule| format!("{:widest$}  {}\n", rule.code(), rule.title())).collect()
}

/// Diagnoses a saved trace, and writes the record as `contend trace` does.
fn diagnose(file: &str, all: bool, shared: &SharedFlags) -> anyhow::Result<()> {
    let destination = Destination::of_view(shared)?;
    let record = SavedTrace::read(Path::new(file))?.record()?;
    let content = harness::output::json_line(&record)?;
    let Value::Object(fields) = serde_json::to_value(&record)? else { unreachable!("a record is an object") };
    let whole = format!("contend explain {file} --all");
    let extent = if all { Extent::Whole } else { Extent::AsMeasured(&whole) };
    destination.present_record(content.as_bytes(), &fields, |page| shown(file, &fields, extent, page))
}
