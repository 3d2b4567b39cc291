//! `contend latency`: what one lock and one unlock cost, spike by spike.

mod costs;
mod findings;
mod flags;
mod measure;
mod metrics;
mod plan;
mod ranking;
mod record;
#[cfg(test)]
mod sample;
mod section;
mod show;
mod show_ranking;
mod then_and_now;
mod warnings;

use self::record::{LatencyRecord, Row};
use ::record::{Cost, Finding, Metric, Rank, Section, ThenAndNow};
use flags::Flags;
use harness::{Example, Experiment, Finished, Run, SharedFlags, SurveyPart};
use plan::{Parameters, Plan};
use std::time::Duration;
use terminal::Page;

/// About what calibrating takes, for the progress bar.
const CALIBRATION: Duration = Duration::from_millis(1500);

/// The experiment.
pub struct Latency;

impl Experiment for Latency {
    const NAME: &'static str = "latency";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend latency --lock std,parking_lot", "Two locks that nobody else wants"),
        (
            "contend latency --lock std --threads 1,4 --placement spread",
            "One with four threads, each on a CPU of its own",
        ),
        ("contend latency --lock all --hold 250ns --seconds 1min", "Every lock, held shortly"),
        (
            "contend latency --lock ./libown_lock.so,std",
            "A lock of your own, from a shared object, beside one of today's",
        ),
    ];
    const SURVEY: Option<SurveyPart> =
        Some(SurveyPart { weight: 43, flags: "--lock sysv,benaphore,std --threads 1,2 --competitors 0,1" });

    const ALL_NIGHT: bool = true;

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    fn answer(flags: &Flags, _: &SharedFlags) -> anyhow::Result<Option<String>> {
        Ok(flags.asks_for_list().then(locks::list))
    }

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let plan = Plan::of(flags, run.session)?;
        let progress = run.progress(CALIBRATION + plan.budget);
        progress.note("calibrating");
        let instruments = run.calibrated()?;
        let measured = measure::run_plan(&plan, run.session, instruments, &progress)?;
        let warnings = instruments.warnings().into_iter().chain(measured.warnings).collect();
        let parameters = plan.parameters(measured.order, measured.object_calls_ns);
        Ok(Finished::measured(parameters, measured.rows, warnings, plan.cpu_set(), run.session.planned(plan.budget)))
    }

    fn show(record: &LatencyRecord, page: &Page) -> String {
        show::show(record, page)
    }

    fn show_part(record: &LatencyRecord, page: &Page) -> String {
        show::sections(&record.results, page)
    }

    fn section(rows: &[Row]) -> Section {
        section::section(rows)
    }

    fn metrics(row: &Row) -> Vec<Metric> {
        metrics::metrics(row)
    }

    fn ranking(rows: &[Row]) -> Vec<Rank> {
        ranking::ranking(rows)
    }

    fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
        findings::findings(rows)
    }

    fn then_and_now(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
        then_and_now::figures(rows)
    }

    fn costs(rows: &[Row]) -> Vec<Cost> {
        costs::costs(rows)
    }
}
