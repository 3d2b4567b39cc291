//! The command line: which experiment, and what its outcome means to the shell.

use crate::compare;
use crate::experiments::{clock, latency, load, model, noise, ring, survey, throughput};
use crate::history;
use crate::locks;
use crate::manual;
use crate::output;
use crate::report;
use crate::session::{Format, Session, SharedFlags};
use clap::{CommandFactory, Parser, Subcommand};
use std::fmt;
use std::process::ExitCode;

/// What waiting costs: on this machine, with these locks, in your program
///
/// Without a command it runs the survey: every experiment briefly, in under two minutes; it ends with what it found, in
/// words, beside the figures of 1998 to 2008. `contend survey --help` has its flags.
#[derive(Parser, Debug)]
#[command(name = "contend", version, after_help = EXIT_STATUS)]
struct Cli {
    #[command(subcommand)]
    request: Option<Request>,

    #[command(flatten)]
    shared: SharedFlags,
}

const EXIT_STATUS: &str = "Exit status: 0 measured; 1 the measurement failed; 2 the flags are wrong; \
3 `contend compare --fail-if` found what it was asked to; 130 interrupted, what was measured so far was printed.";

#[derive(Subcommand, Debug)]
enum Request {
    #[command(flatten)]
    Measure(Experiment),
    Compare(compare::Flags),
    Report(report::Flags),
    History(history::Flags),
    Completions(manual::CompletionsFlags),
    Man(manual::PagesFlags),
}

#[derive(Subcommand, Debug)]
enum Experiment {
    Survey(survey::Flags),
    Clock(clock::Flags),
    Latency(latency::Flags),
    Throughput(throughput::Flags),
    Noise(noise::Flags),
    Load(load::Flags),
    Ring(ring::Flags),
    Model(model::Flags),
}

impl Experiment {
    /// How the experiment measures, from its page in `docs/`.
    fn explanation(&self) -> anyhow::Result<&'static str> {
        let name = match self {
            Self::Clock(_) => "clock",
            Self::Latency(_) => "latency",
            Self::Throughput(_) => "throughput",
            Self::Noise(_) => "noise",
            Self::Load(_) => "load",
            Self::Ring(_) => "ring",
            Self::Model(_) => "model",
            Self::Survey(_) => "survey",
        };
        report::method_page(name).ok_or_else(no_method)
    }

    fn asks_for_lock_list(&self) -> bool {
        match self {
            Self::Latency(flags) => flags.asks_for_list(),
            Self::Throughput(flags) => flags.asks_for_list(),
            Self::Survey(_) | Self::Clock(_) | Self::Noise(_) | Self::Load(_) | Self::Model(_) | Self::Ring(_) => false,
        }
    }
}

/// Flags that make no sense on this machine or together: exit status 2.
#[derive(Debug)]
pub struct Misuse(pub String);

impl fmt::Display for Misuse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

fn no_method() -> anyhow::Error {
    Misuse("--explain: ask one experiment, such as `contend latency --explain`".into()).into()
}

const EXCEEDED: u8 = 3;
const INTERRUPTED: u8 = 130;

/// Runs the command and says how it went.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    match perform(cli) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Exceeded) => ExitCode::from(EXCEEDED),
        Ok(Outcome::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) => match error.downcast::<Misuse>() {
            // clap's own form, so that all misuse reads alike; it exits with 2.
            Ok(misuse) => Cli::command().error(clap::error::ErrorKind::ValueValidation, misuse).exit(),
            Err(error) => {
                output::complain(&format!("error: {error:#}"));
                ExitCode::FAILURE
            }
        },
    }
}

/// How what did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// A comparison found what was not to be.
    Exceeded,
    Interrupted,
}

fn perform(cli: Cli) -> anyhow::Result<Outcome> {
    let shared = &cli.shared;
    if shared.explain && !matches!(cli.request, Some(Request::Measure(_))) {
        return Err(no_method());
    }
    match cli.request {
        None => measure(Experiment::Survey(survey::Flags::default()), shared),
        Some(Request::Measure(experiment)) => measure(experiment, shared),
        Some(Request::Compare(flags)) => compare::run(&flags, shared),
        Some(Request::Report(flags)) => report::run(&flags, shared).map(|()| Outcome::Done),
        Some(Request::History(flags)) => history::run(&flags, shared),
        Some(Request::Completions(flags)) => manual::complete(&flags, shared, Cli::command()).map(|()| Outcome::Done),
        Some(Request::Man(flags)) => manual::write_pages(&flags, shared, Cli::command()).map(|()| Outcome::Done),
    }
}

fn measure(experiment: Experiment, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    if shared.explain {
        output::print(experiment.explanation()?)?;
        return Ok(Outcome::Done);
    }
    if experiment.asks_for_lock_list() {
        output::print(&locks::list())?;
        return Ok(Outcome::Done);
    }
    if shared.format == Format::Ulockflex && !matches!(experiment, Experiment::Throughput(_)) {
        return Err(Misuse("--format ulockflex: only `contend throughput` has that layout".into()).into());
    }
    if let Experiment::Ring(flags) = &experiment
        && ring::run_alone(flags)?
    {
        return Ok(Outcome::Done);
    }
    let session = Session::open(shared)?;
    let destination = output::Destination::open(shared)?;
    match experiment {
        Experiment::Survey(flags) => survey::run(&flags, shared, &session, destination),
        Experiment::Clock(flags) => destination.deliver(&clock::run(&flags, &session)?),
        Experiment::Latency(flags) => destination.deliver(&latency::run(&flags, &session)?),
        Experiment::Throughput(flags) => destination.deliver(&throughput::run(&flags, &session)?),
        Experiment::Noise(flags) => noise::run(&flags, shared, &session, destination),
        Experiment::Model(flags) => model::deliver(&flags, &session, destination),
        Experiment::Load(flags) => load::run(&flags, shared, &session, destination),
        Experiment::Ring(flags) => ring::run(&flags, &session, destination),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
