//! `contend screen`: all of contend by menus, with live pictures.

use clap::{Args, Command};
use harness::{Outcome, SharedFlags};

/// Open the full-screen interface: menus, live charts, the archive
///
/// The interface takes keys and the mouse; ? shows the keys. Each experiment has a form with its main options, which
/// shows the command line that does the same. An experiment that is started here runs as a separate process and is drawn
/// while it measures; stopping it keeps the results so far. The interface stays on one CPU and measures the others, unless there is only one. It requires a terminal of 80
/// columns and 23 lines.
#[derive(Args, Clone, Debug)]
pub struct Flags {}

/// Takes the terminal, until the user leaves.
///
/// # Errors
/// There is no terminal, or it was closed.
pub fn run(shared: &SharedFlags, command: Command) -> anyhow::Result<Outcome> {
    screen::run(shared.archive.clone(), command)
}
