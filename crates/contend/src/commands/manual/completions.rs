//! A script with which a shell completes commands, flags, and those of their values that are known beforehand.

use crate::output::print_or_write;
use clap::{Args, Command};
use clap_complete::Shell;
use harness::{Outcome, SharedFlags};

/// A script that completes contend's commands, flags and values in a shell
///
/// It is printed, or written to the file that --output names. Where the shells look for it:
/// bash: ~/.local/share/bash-completion/completions/contend;
/// zsh: _contend in a folder of $fpath;
/// fish: ~/.config/fish/completions/contend.fish.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// The shell
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
