//! `contend noise --wake`: the wake-up latency of a thread that sleeps until an instant, and its causes.

mod account;
mod measure;
#[cfg(test)]
pub mod night;
mod plan;
mod record;
#[cfg(test)]
mod sample;
mod section;
mod show;
mod sleeper;

use self::record::WakeRow;
use super::cells::Scenario;
use super::flags::Flags;
use super::plan::ended_by;
use super::plan::{Parameters, Plan};
use ::record::RecordRef;
use harness::{Experiment, Finished, ModeFlags, Run, Views};
use instruments::warning::{ClockFallback, Warning};
use plan::WakePlan;
use serde_json::Value;
use terminal::Page;

/// The experiment.
pub struct Wake;

fn show(record: &RecordRef<'_, Parameters, WakeRow>, page: &Page) -> String {
    show::show(record.results, &record.environment.machine, record.parameters.budget_s, page)
}

impl Experiment for Wake {
    const NAME: &'static str = "noise wake";
    const FLAG: Option<&'static str> = Some("wake");

    /// All of them are flags of the command: those of `--wake` are listed among the flags of both measurements.
    type Flags = ModeFlags<(), Flags>;
    type Parameters = Parameters;
    type Row = WakeRow;

    const VIEWS: Views<Self> = Views {
        metrics: record::metrics,
        next: |record| record::next(record.parameters, record.results),
        ..Views::of(show, section::section)
    };

    fn has_row(row: &Value) -> bool {
        row["scenario"] == "wake"
    }

    fn run(flags: &Self::Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, WakeRow>> {
        let flags = &flags.shared;
        let plan = WakePlan::of(flags, run.shared, run.session)?;
        let progress = run.progress(plan.budget);
        progress.note("calibrating");
        let calibration = run.clock();
        let gaps = Plan::of(&Flags { scenario: vec![Scenario::Quiet], ..flags.clone() }, run.session)?;
        let measured = measure::run_plan(&plan, run.session, calibration.clock, &progress)?;
        let fallback = calibration.fallback.map(|reason| Warning::from(ClockFallback { reason }));
        let warnings = fallback.into_iter().chain(measured.warnings).collect();
        let planned = run.session.planned(plan.budget);
        let parameters = Parameters {
            wake: Some(plan.parameters()),
            budget_s: planned.map(|budget| budget.as_secs_f64()),
            turn_s: plan.turn.as_secs_f64(),
            ..gaps.parameters(measured.order)
        };
        let is_stopped = measured.rows.iter().any(|row| row.stopped.is_some());
        let finished = Finished::measured(parameters, measured.rows, warnings, plan.cpus.clone(), planned);
        Ok(finished.exceeded_by(ended_by(is_stopped)))
    }
}
