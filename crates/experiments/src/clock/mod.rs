//! `contend clock`: the clock, the busy loop, and the remaining speed of the CPU.

mod findings;
mod flags;
mod measure;
mod plan;
mod record;
mod show;

use self::record::Row;
use flags::Flags;
use harness::{Example, Experiment, Finished, Run, SurveyPart, Views};
use plan::{Parameters, Plan};

/// The experiment.
pub struct Clock;

impl Experiment for Clock {
    const NAME: &'static str = "clock";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend clock", "Measure the clock, and the CPU time left in windows of up to 2 s"),
        ("contend clock --seconds 5 --longest 100ms", "Measure for 5 s, in windows of up to 100 ms"),
        (
            "contend clock --cpus 0-3 --format json",
            "Print the offsets between the counters of four CPUs, for a program",
        ),
    ];
    const SURVEY: Option<SurveyPart> = Some(SurveyPart { weight: 5, flags: "" });

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> = Views {
        metrics: findings::metrics,
        findings: findings::findings,
        then_and_now: findings::then_and_now,
        costs: Some(findings::costs),
        ..Views::of(show::show, show::section)
    };

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let plan = Plan::of(flags, run.session)?;
        let progress = run.progress(plan.budget);
        progress.note("calibrating");
        let instruments = run.calibrated()?;
        let measured = measure::run_plan(&plan, run.session, instruments, &progress)?;
        let warnings = instruments.warnings().into_iter().chain(measured.warnings).collect();
        let cpus = run.session.cpus.clone();
        Ok(Finished::measured(plan.parameters(), measured.rows, warnings, cpus, Some(plan.budget)))
    }
}
