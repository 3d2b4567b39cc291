//! The common options: the flags that mean the same for every command. A command accepts those that it uses, before or
//! after its name.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};
use harness::{SharedFlags, UsageError};

/// The heading of these flags in a command.
///
/// A command's own form of one has no heading.
pub use harness::COMMON_OPTIONS as HEADING;

/// Returns all common options.
pub fn all() -> Vec<Arg> {
    SharedFlags::augment_args(Command::new("")).get_arguments().cloned().collect()
}

/// The purpose that a command line is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be parsed: a flag that a command does not accept exists and is hidden, so that contend itself refuses it.
    Parsing,
    /// To be described in completions and man pages: such a flag does not exist.
    Describing,
}

/// Adds all of them to the whole command, also for the commands below it.
pub fn with_all(root: Command, purpose: Purpose) -> Command {
    all().into_iter().fold(root, |root, flag| root.arg(flag.global(purpose == Purpose::Parsing)))
}

/// Adds the shared flags that the command accepts.
pub fn with_flags(command: Command, purpose: Purpose, takes: impl Fn(&str) -> bool) -> Command {
    all().into_iter().fold(command, |command, flag| {
        let (id, is_taken) = (flag.get_id().clone(), takes(flag.get_id().as_str()));
        let has_own = command.get_arguments().any(|own| *own.get_id() == id);
        let is_there = !has_own && (is_taken || purpose == Purpose::Parsing);
        if is_there { command.arg(flag.global(false).hide(!is_taken)) } else { command }
    })
}

/// Checks that no flag was given which the command would ignore.
pub fn check(matches: &ArgMatches, call: &str, takes: impl Fn(&str) -> bool) -> Result<(), UsageError> {
    let given =
        |id: &str| matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine);
    let ignored = all().into_iter().find(|flag| given(flag.get_id().as_str()) && !takes(flag.get_id().as_str()));
    match ignored {
        None => Ok(()),
        Some(flag) => {
            let name = flag.get_long().unwrap_or_default();
            Err(UsageError(format!("--{name}: `contend {call}` does not take this option; omit it")))
        }
    }
}
