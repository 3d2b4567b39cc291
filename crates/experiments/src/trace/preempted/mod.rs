//! `contend preempted`: the holders of locks that lost their CPU, and the remedies.
//!
//! The program is traced as by `contend trace --full`: every hold is timed, and the kernel records the switches of the
//! program's threads. A preemption within a hold is counted for its lock and its call site.

mod findings;
mod flags;
mod measure;
mod record;
mod remedies;
mod rows;
mod section;
mod show;
mod slice_extension;

use self::record::Row;
pub use self::slice_extension::SliceExtension;
use flags::Flags;
use harness::{Example, Experiment, Finished, Run, Views};
use record::Parameters;

/// The experiment.
pub struct Preempted;

impl Experiment for Preempted {
    const NAME: &'static str = "preempted";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend preempted -- ./server --its flags", "Count the preempted holders until the server exits or Ctrl-C"),
        ("contend preempted --pid 1234 --seconds 10", "Count those of a running process whose waiters block (root)"),
        (
            "contend preempted --remedies --seconds 48 --threads 8 -- ./server --threads '{threads}'",
            "Measure a longer time slice, a higher priority and fewer threads",
        ),
    ];
    const NEEDS: Option<&'static str> = Some("a program to trace");
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
        let cpus = run.session.cpus.clone();
        let planned = run.session.seconds;
        let measured = measure::run_plan(flags, run)?;
        let mut finished = Finished::measured(measured.parameters, measured.rows, measured.warnings, cpus, planned);
        finished.program_status = measured.status;
        // The load is what preempts the holders, and is counted.
        Ok(finished.without(["other_load", "autogroup"]))
    }
}
