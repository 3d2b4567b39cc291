//! `contend trace --confirm`: whether the cycles of locks that a run shows become deadlocks.
//!
//! The program runs once to find its cycles. For each one that is possible it runs again and again: a thread that holds
//! a lock of the cycle is held before it acquires the next one, until the other threads of the cycle have theirs, or
//! some time is over. A cycle counts as reached only if its threads wait for each other, which no pause can undo.

mod aim;
mod flags;
mod measure;
mod schedule;
mod watch;

use super::plan::{OUTCOMES, Parameters};
use super::record::Row;
use flags::{ConfirmFlags, SharedFlags};
use harness::{Experiment, Finished, ModeFlags, Run, Views};
use launch::{FEWEST_RUNS, Plan};
use serde_json::Value;

/// The experiment.
pub struct Confirm;

impl Experiment for Confirm {
    const NAME: &'static str = "trace confirm";
    const FLAG: Option<&'static str> = Some("confirm");
    const OUTCOMES: &'static [&'static str] = OUTCOMES;

    type Flags = ModeFlags<ConfirmFlags, SharedFlags>;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> = super::views::views();

    /// A record has the parameters and the rows of a trace, and is read as a trace.
    fn has_row(_: &Value) -> bool {
        false
    }

    fn run(flags: &Self::Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let SharedFlags { all, launched } = &flags.shared;
        let runs = flags::runs(&launched.comparison)?;
        let plan = Plan::of(&launched.program, &launched.comparison, FEWEST_RUNS, run.session)?;
        let calibration = run.clock();
        let planned = run.session.seconds;
        let progress = run.progress(planned.unwrap_or_default());
        let measured = measure::run_plan(&plan, runs, *all, run.session, &calibration, &progress)?;
        let cpus = run.session.cpus.clone();
        let finished = Finished::measured(measured.parameters, measured.rows, measured.warnings, cpus, planned);
        // Neither the load nor the speed of the machine changes a verdict.
        Ok(finished.without(["other_load", "autogroup"]))
    }
}
