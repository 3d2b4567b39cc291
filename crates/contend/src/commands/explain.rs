//! `contend explain`: the pages of the kinds of problem that `contend trace` names by a code.

use crate::output::print_or_write;
use clap::Args;
use experiments::Rule;
use harness::{Outcome, SharedFlags, UsageError};

/// Say what a finding's code means: what was seen, what that needs, what refutes it
///
/// The code of a finding of `contend trace` is in brackets behind it, and in the field `rule` of its row. Without a code, the
/// command lists all of them.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Code of a finding, such as holder_blocked [default: a list of all]
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

/// Prints the page of a code, or the list of all codes, or writes it to the file that `--output` names.
///
/// # Errors
/// The code is unknown, or the file cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    let text = match &flags.code {
        Some(code) => page(code)?,
        None => list(),
    };
    print_or_write(&text, shared)?;
    Ok(Outcome::Done)
}

fn page(code: &str) -> Result<String, UsageError> {
    // As it is printed with a finding, and as one may type it.
    let plain = code.trim_matches(['[', ']']).replace('-', "_").to_lowercase();
    let rule = Rule::of(&plain).ok_or_else(|| {
        UsageError(format!("{code}: no such code; `contend explain` lists all, such as {}", Rule::HolderBlocked.code()))
    })?;
    Ok(rule.page().replace("**", ""))
}

fn list() -> String {
    let widest = Rule::ALL.iter().map(|rule| rule.code().len()).max().unwrap_or(0);
    Rule::ALL.iter().map(|rule| format!("{:widest$}  {}\n", rule.code(), rule.title())).collect()
}
