//! `contend screen`: a full-screen interface to all experiments and records, which needs no knowledge of the flags.
//!
//! Menus and forms are made of the registry of experiments, of the command line's definition and of the archive, when they
//! open. A child process measures: the same program with the command line that is shown. Its reports are drawn
//! while it measures. This process has one thread, stays on one CPU, and measures nothing.
//!
//! | part | |
//! | --- | --- |
//! | `event_loop`, `terminal::full_screen` | waiting for keys, signals and children; the terminal's modes and keys |
//! | `app`, `app/input` | the state of the interface; the effect of keys and clicks on it |
//! | `menu`, `records` | the menus and their lines; the records of the archive and their verdicts |
//! | `form`, `list`, `processes` | the form of an experiment; a list to choose from; the processes of this machine |
//! | `command_line`, `run`, `feed` | a command as text; the child process that runs it; its reports |
//! | `diagnosis` | the snapshots of a traced program, and the choices about them |
//! | `machine`, `matrix` | the CPUs that can be measured; tables whose cells are measured |
//! | `draw` | the screen, drawn from the state |

mod app;
mod command_line;
mod diagnosis;
mod draw;
mod event_loop;
mod feed;
mod form;
mod list;
mod machine;
mod matrix;
mod menu;
mod processes;
mod records;
mod run;

use anyhow::{Context, bail, ensure};
use app::App;
use archive::Location;
use clap::Command;
use event_loop::Signals;
use form::Forms;
use harness::{Outcome, output};
use machine::Machine;
use records::Records;
use run::Ended;
pub use run::browser;
use std::io::{IsTerminal, stdin, stdout};
use std::path::PathBuf;
use terminal::full_screen::Tty;

/// Runs the full-screen interface until the user leaves; `command` is the whole command line, from which it makes its
/// forms.
///
/// # Errors
/// There is no terminal, or it was closed.
pub fn run(archive: Option<PathBuf>, command: Command) -> anyhow::Result<Outcome> {
    check_terminal("screen", "all other commands work without one, see `contend --help`")?;
    // Dropped after the terminal: it waits for a child that saves its record.
    let mut app = app(archive, command)?;
    let signals = Signals::catch().context("cannot install signal handlers")?;
    let tty = Tty::take(true)?;
    app.records.look();
    app.records.judge(None);
    event_loop::run(&tty, signals, &mut app)
}

/// Shows the diagnosis of a traced program while it runs, then prints it; `words` are the command line that traces it.
///
/// # Errors
/// There is no terminal, or it was closed; the output cannot be written; the trace was killed.
pub fn top(words: Vec<String>) -> anyhow::Result<Outcome> {
    check_terminal("top", "`contend trace --interval 1s` prints a line each second without one")?;
    let mut app = app(None, Command::default())?;
    let signals = Signals::catch().context("cannot install signal handlers")?;
    {
        let tty = Tty::take(true)?;
        app.watch(words);
        if app.run.is_some() && event_loop::run(&tty, signals, &mut app)? == Outcome::Interrupted {
            return Ok(Outcome::Interrupted);
        }
    }
    let run = app.run.as_ref().with_context(|| app.message.clone())?;
    let (text, errors) = run.output();
    output::print(&text)?;
    if !errors.trim().is_empty() {
        output::eprint_line(errors.trim_end());
    }
    match run.ended {
        Some(Ended::Failed(code)) => Ok(Outcome::ProgramFailed(u8::try_from(code).unwrap_or(1))),
        Some(Ended::Killed(_)) => bail!("the trace was {}", run.state()),
        Some(Ended::Done | Ended::Stopped) | None => Ok(Outcome::Done),
    }
}

fn app(archive: Option<PathBuf>, command: Command) -> anyhow::Result<App> {
    let program = std::env::current_exe().context("cannot find the path of the contend executable")?;
    let machine = Machine::detect().context("cannot read the CPU affinity mask")?;
    let records = Records::new(Location::of(archive.as_deref()));
    let forms = Forms::new(command, &machine, archive);
    Ok(App::new(program, machine, records, forms))
}

/// Checks that this is a terminal on which a full screen can be drawn; `help` names the alternative.
fn check_terminal(command: &str, help: &str) -> anyhow::Result<()> {
    let needs = format!("`contend {command}` needs a terminal");
    ensure!(stdin().is_terminal(), "{needs}: standard input is not a terminal; {help}");
    ensure!(stdout().is_terminal(), "{needs}: standard output is not a terminal; {help}");
    ensure!(
        std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        "{needs} with cursor addressing, but TERM is dumb; {help}"
    );
    Ok(())
}
