//! A script with which a shell completes commands, flags, and the values that are known in advance.

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
/// Flags do not apply to a script, or a file cannot be written.
pub fn run(flags: &Flags, shared: &SharedFlags, mut command: Command) -> anyhow::Result<Outcome> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut command, name, &mut script);
    print_or_write(&String::from_utf8(script)?, shared)?;
    Ok(Outcome::Done)
}
