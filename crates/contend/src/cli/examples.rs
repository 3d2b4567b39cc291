//! Calls to begin with, at the end of a command's help.

use clap::Command;
use harness::Example;

/// The command with its examples, above what its help ends with.
pub fn with_examples(command: Command, examples: &[Example]) -> Command {
    let lines = examples.iter().map(|(call, what)| format!("  {call}\n          {what}"));
    let examples = format!("Examples:\n{}", lines.collect::<Vec<String>>().join("\n"));
    let after = command.get_after_help().map(|rest| format!("\n\n{rest}")).unwrap_or_default();
    command.after_help(examples + &after)
}
