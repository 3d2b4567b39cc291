//! `contend screen`: find, run and look at everything, without having read of a flag.
//!
//! Menus are made of the registries of experiments and locks, of the archive, and of what this machine allows, at the
//! moment they open. Whatever is measured is measured by a child process, the same program with the command line that
//! is shown; what it tells while it measures is drawn. This process has one thread, stays on one CPU, and measures
//! nothing.
//!
//! | part | |
//! | --- | --- |
//! | `tty`, `signals`, `input` | the terminal: taken, given back, and what comes from it |
//! | `machine`, `choice`, `records` | what there is, what is chosen, what was kept |
//! | `menu`, `action`, `matrix` | what can be taken, and what it does |
//! | `child`, `run`, `feed` | the measurement, and what it has told so far |
//! | `app` | what a key, a click or a child's end makes of it all |
//! | `draw` | the picture |

mod action;
mod app;
mod child;
mod choice;
mod command_line;
mod draw;
mod editor;
mod feed;
mod input;
mod machine;
mod matrix;
mod menu;
mod open;
mod records;
mod run;
mod signals;
pub mod tty;
mod turn;
mod viewer;

use anyhow::Context;
use app::App;
use archive::Location;
use harness::Outcome;
use machine::Machine;
use records::Records;
use signals::Signals;
use std::path::PathBuf;
use tty::Tty;

/// Takes the terminal, until the user leaves.
///
/// # Errors
/// There is no terminal, or it has gone; the system refuses a handler or a CPU.
pub fn run(archive: Option<PathBuf>) -> anyhow::Result<Outcome> {
    let tty = Tty::take()?;
    let signals = Signals::catch().context("cannot install signal handlers")?;
    let program = std::env::current_exe().context("cannot find the path of the contend executable")?;
    let machine = Machine::look().context("cannot read the CPU affinity mask")?;
    let records = Records::at(Location::of(archive.as_deref()));
    let app = App::new(program, machine, records, archive);
    turn::turns(&tty, signals, app)
}
