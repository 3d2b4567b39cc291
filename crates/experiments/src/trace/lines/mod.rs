//! `contend lines`: the cache lines that threads fight for, as they are used. No wait shows these: a thread is on its CPU
//! while it fetches a line from another one.

mod findings;
mod flags;
mod measure;
mod record;
mod section;
mod show;

use super::sharing::record::Row;
use flags::Flags;
use harness::{Example, Experiment, Finished, Run, Views};
use record::Parameters;
use std::time::Duration;

/// The experiment.
pub struct Lines;

impl Experiment for Lines {
    const NAME: &'static str = "lines";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend lines -- ./server --its flags", "Show the lines until the server exits or Ctrl-C"),
        ("contend lines --pid 1234 --seconds 10", "Show those of a running process"),
    ];
    const NEEDS: Option<&'static str> = Some("a program to sample");
    const UNUSED: &'static [&'static str] = &["cpus"];
    const OUTCOMES: &'static [&'static str] = record::OUTCOMES;

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> = Views {
        metrics: findings::metrics,
        findings: findings::findings,
        next: findings::next,
        ..Views::of(show::show, section::section)
    };

    fn shares_stdout(flags: &Flags) -> bool {
        !flags.launched.program.is_empty()
    }

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let (cpus, planned) = (run.session.cpus.clone(), run.session.seconds);
        let progress = run.progress(planned.unwrap_or(Duration::MAX));
        let measured = measure::run(flags, run.session, &progress)?;
        let mut finished = Finished::measured(measured.parameters, measured.rows, measured.warnings, cpus, planned);
        finished.program_status = measured.status;
        // The program itself is the load.
        Ok(finished.without(["other_load", "autogroup"]))
    }
}
