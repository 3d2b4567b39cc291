//! `contend screen`: a full-screen interface to all experiments and records, which needs no knowledge of the flags.
//!
//! Menus are made of the registries of experiments and locks, of the archive, and of the CPUs of this machine, when
//! they open. A child process measures: the same program with the command line that is shown. Its reports are drawn
//! while it measures. This process has one thread, stays on one CPU, and measures nothing.
//!
//! | part | |
//! | --- | --- |
//! | `event_loop`, `terminal::full_screen` | waiting for keys, signals and children; the terminal's modes and keys |
//! | `app`, `app/input` | the state of the interface; the effect of keys and clicks on it |
//! | `menu`, `choice`, `records` | the menus and their lines; the values chosen in them; the records of the archive |
//! | `command_line`, `run`, `feed` | a command as text; the child process that runs it; its reports |
//! | `matrix` | tables whose cells are measured |
//! | `draw` | the screen, drawn from the state |

mod app;
mod choice;
mod command_line;
mod draw;
mod event_loop;
mod feed;
mod matrix;
mod menu;
mod records;
mod run;

use anyhow::{Context, ensure};
use app::App;
use archive::Location;
use choice::Machine;
use event_loop::Signals;
use harness::Outcome;
use records::Records;
use std::io::{IsTerminal, stdin, stdout};
use std::path::PathBuf;
use terminal::full_screen::Tty;

/// Runs the full-screen interface until the user leaves.
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
    let machine = Machine::detect().context("cannot read the CPU affinity mask")?;
    let records = Records::new(Location::of(archive.as_deref()));
    let app = App::new(program, machine, records, archive);
    event_loop::run(&tty, signals, app)
}
