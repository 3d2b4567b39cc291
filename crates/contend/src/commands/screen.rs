//! `contend screen`: all of contend by menus, with live pictures.

use clap::Args;
use harness::{Outcome, SharedFlags};

/// Find, run and look at everything: menus, live pictures, the archive
///
/// Full-screen, by keys or mouse; ? shows the keys. Whatever is chosen shows the command line that does the same. An
/// experiment that is started here runs as a process of its own, drawn while it measures; stopping it keeps what was
/// measured. The screen stays on one CPU and measures the others, unless there is no other. It needs a terminal of 80
/// columns and 24 lines.
#[derive(Args, Clone, Debug)]
pub struct Flags {}

/// Takes the terminal, until the user leaves.
///
/// # Errors
/// There is no terminal, or it has gone.
pub fn run(shared: &SharedFlags) -> anyhow::Result<Outcome> {
    screen::run(shared.archive.clone())
}
