//! The command: flags in, one experiment, its record out.

mod apparatus;
mod cells;
mod cli;
mod compare;
mod evidence;
mod experiments;
mod history;
mod interruption;
mod locks;
mod manual;
mod output;
mod progress;
mod quantities;
mod reading;
mod record;
mod report;
mod session;
mod terminal;
mod views;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
