//! A script with which a shell completes commands, flags, and those of their values that are known beforehand.

use crate::output::print_or_write;
use clap::{Args, Command};
use clap_complete::Shell;
use harness::{Outcome, SharedFlags};

/// Print a shell completion script
///
/// The script completes commands, options and values. It is printed, or written to the file of --output. Files that the
/// shells read: ~/.local/share/bash-completion/completions/contend (bash), _contend in a directory of $fpath (zsh),
/// ~/.config/fish/completions/contend.fish (fish).
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Shell that reads the script
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Writes the script for `command`.
///
/// # Errors
/// Flags that make no sense for a script, a file that cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags, mut command: Command) -> anyhow::Result<Outcome> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut command, name, &mut script);
    print_or_write(&String::from_utf8(script)?, shared)?;
    Ok(Outcome::Done)
}
