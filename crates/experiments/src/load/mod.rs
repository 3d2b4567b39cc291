//! `contend load`: the CPU time that all threads leave over, or that a thread of a priority gets.

mod findings;
mod flags;
mod live;
mod measure;
mod plan;
mod record;
mod show;

use self::flags::Priority;
use self::record::Row;
use flags::{Flags, View};
use harness::{Calibrated, Example, Experiment, Finished, Run, SmtMonitor, SurveyPart, Views};
use instruments::warning::Warning;
use live::Live;
use measure::Measured;
use plan::{Parameters, Plan};
use std::time::Duration;

/// The experiment.
pub struct Load;

impl Experiment for Load {
    const NAME: &'static str = "load";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend load", "Show the load until Ctrl-C or q"),
        (
            "contend load --priority 0 --seconds 10",
            "Measure for 10 s the time that a thread of normal priority would get",
        ),
        ("contend load --seconds 1min --format json --output load.json", "Write a record of one minute to a file"),
    ];
    const SURVEY: Option<SurveyPart> = Some(SurveyPart { weight: 6, flags: "--grinders 2 --interval 500ms" });

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> = Views {
        metrics: findings::metrics,
        findings: findings::findings,
        then_and_now: findings::then_and_now,
        ..Views::of(show::show, show::section)
    };

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let plan = Plan::of(flags, run.is_part() || run.shared.wants_record(), run.session)?;
        let finished = if run.is_part() { headless(&plan, run)? } else { with_view(flags, &plan, run)? };
        // The load is the measured quantity here, and an idle meter goes into a separate session.
        let autogroup = (plan.priority == Priority::IDLE).then_some("autogroup");
        Ok(finished.without(std::iter::once("other_load").chain(autogroup)))
    }
}

/// Runs as a part of a longer run.
///
/// The caller must have no other threads.
fn headless(plan: &Plan, run: &Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
    let mut progress = run.progress(Duration::ZERO);
    let calibrated = run.calibrated()?;
    progress.note("the time that is left over");
    let monitor = &mut SmtMonitor::open(run.session, calibrated.clock());
    let measured = measure::run_in_child(plan, run.session.seed, calibrated, monitor, &mut progress)?;
    Ok(finished(plan, measured, calibrated, Vec::new()))
}

/// Runs with a live view.
///
/// The caller must have no other threads.
fn with_view(flags: &Flags, plan: &Plan, run: &Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
    let view = flags.live_view(run.shared)?;
    let mut live = Live::new(view, flags.metrics.as_deref(), run.session, plan)?;
    let progress = run.progress(plan.length.unwrap_or(Duration::ZERO));
    progress.note("calibrating");
    let calibrated = run.calibrated()?;
    drop(progress);
    live.begin()?;
    let monitor = &mut SmtMonitor::open(run.session, calibrated.clock());
    let measured = measure::run_in_child(plan, run.session.seed, calibrated, monitor, &mut live)?;
    let mut finished = finished(plan, measured, calibrated, live.end());
    finished.is_printed = view == Some(View::Json) && run.shared.output.is_none();
    if finished.is_printed {
        live::json_lines(finished.rows.iter().filter(|row| row.interval().is_none()))?;
    }
    Ok(finished)
}

/// Returns the rows of intervals, then those of the whole run; and the warnings.
fn finished(
    plan: &Plan,
    measured: Measured,
    calibrated: &Calibrated,
    of_view: Vec<Warning>,
) -> Finished<Parameters, Row> {
    let parameters = plan.parameters(measured.exact_account.as_deref());
    let intervals = measured.intervals.into_iter().map(Row::Interval);
    let totals = measured.totals.into_iter().map(Row::Total).chain(measured.all_cpus.map(Row::AllCpus));
    let warnings = calibrated.warnings().into_iter().chain(of_view).chain(measured.warnings).collect();
    Finished::measured(parameters, intervals.chain(totals).collect(), warnings, plan.cpu_set(), plan.length)
}
