//! `contend screen`: find, run and look at everything, without having read of a flag.
//!
//! Menus are made of the registries of experiments and locks, of the archive, and of this machine's possibilities, at
//! the moment they open. A child process measures: the same program with the command line that is shown. Its reports
//! are drawn while it measures. This process has one thread, stays on one CPU, and measures nothing.
//!
//! | part | |
//! | --- | --- |
//! | `signals`, `terminal::full_screen` | signals as bytes in a pipe; the terminal's modes and keys |
//! | `machine`, `choice`, `records` | what there is, what is chosen, what was kept |
//! | `menu`, `action`, `matrix` | what can be taken, and what it does |
//! | `child`, `run`, `feed` | the measurement, and its reports |
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
mod machine;
mod matrix;
mod menu;
mod open;
mod records;
mod run;
mod signals;
mod turn;
mod viewer;

use anyhow::{Context, ensure};
use app::App;
use archive::Location;
use harness::Outcome;
use machine::Machine;
use records::Records;
use signals::Signals;
use std::io::{IsTerminal, stdin, stdout};
use std::path::PathBuf;
use terminal::full_screen::Tty;

/// Runs the full-screen interface until the user leaves.
///
/// # Errors
/// There is no terminal, or it has gone; the system refuses a handler or a CPU.
pub fn run(archive: Option<PathBuf>) -> anyhow::Result<Outcome> {
    const WHAT: &str = "`contend screen` needs a terminal";
    const HOW: &str = "all other commands work without one, see `contend --help`";
    ensure!(stdin().is_terminal(), "{WHAT}: standard input is not a terminal; {HOW}");
    ensure!(stdout().is_terminal(), "{WHAT}: standard output is not a terminal; {HOW}");
    ensure!(
        std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        "{WHAT} with cursor addressing, but TERM is dumb; {HOW}"
    );
    let tty = Tty::take(true)?;
    let signals = Signals::catch().context("cannot install signal handlers")?;
    let program = std::env::current_exe().context("cannot find the path of the contend executable")?;
    let machine = Machine::look().context("cannot read the CPU affinity mask")?;
    let records = Records::at(Location::of(archive.as_deref()));
    let app = App::new(program, machine, records, archive);
    turn::turns(&tty, signals, app)
}
