//! The command: flags in, one experiment, its record out.

mod cli;
mod commands;
mod output;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
