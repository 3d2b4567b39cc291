//! `contend noise`: who takes the CPU from a running thread.

mod cells;
mod findings;
mod flags;
mod live;
mod measure;
mod metrics;
mod plan;
mod record;
#[cfg(test)]
mod sample;
mod scenario;
mod section;
mod show;
mod then;
mod then_and_now;
mod trace;
mod values;

use self::record::{NoiseRecord, Row};
use ::record::{Finding, Metric, Section, ThenAndNow};
use flags::{Flags, View};
use harness::output::OutputFile;
use harness::{Example, Experiment, Finished, Run, SurveyPart, WatchedGaps};
use instruments::warning::{ClockFallback, Warning};
use live::Live;
use measure::{GapTrace, Measured};
use plan::{Parameters, Plan};
use std::path::Path;
use terminal::Page;

/// The experiment.
pub struct Noise;

impl Experiment for Noise {
    const NAME: &'static str = "noise";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend noise", "Who takes the CPU: alone, beside a competitor, and beside a rescheduler"),
        (
            "contend noise --scenario quiet --interval 1s",
            "A line a second of what the machine does when nothing is asked of it",
        ),
        ("contend noise --remedies --seconds 60", "What helps here against a competitor"),
        ("contend noise --seconds 60 --trace quiet.trace", "Every gap of a minute in a file, for `contend model step`"),
    ];
    const SURVEY: Option<SurveyPart> = Some(SurveyPart { weight: 26, flags: "--scenario quiet,competitor,both" });

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let plan = Plan::of(flags, run.session)?;
        let plan = Plan { keeps_gaps: plan.keeps_gaps || run.is_part(), ..plan };
        let view = flags.live_view(run.shared)?;
        let trace = flags.trace().map(|path| OutputFile::open("--trace", path).map(|file| (path, file))).transpose()?;
        let progress = run.progress(plan.expected_time().unwrap_or_default());
        progress.note("calibrating");
        let calibration = run.clock();
        let mut live = Live::new(view, progress);
        let mut measured = measure::run_plan(&plan, run.session, calibration.clock, &mut live)?;
        let failure = live.end().err().map(|error| format!("{error:#}"));

        let trace = trace.filter(|_| !measured.rows.is_empty());
        let trace = trace.map(|(path, file)| (file, traced(path, &measured, run.session.started_unix_s())));
        if let Some(passed) = run.passed() {
            passed.gaps = Some(watched(std::mem::take(&mut measured.kept)));
        }
        let fallback = calibration.fallback.map(|reason| Warning::from(ClockFallback { reason }));
        let warnings = fallback.into_iter().chain(measured.warnings).collect();
        let (parameters, planned) = (plan.parameters(measured.order), plan.expected_time());
        let mut finished = Finished::measured(parameters, measured.rows, warnings, plan.cpus, planned);
        finished.is_printed = view == Some(View::Json) && !run.shared.writes_a_file();
        finished.files.extend(trace);
        finished.failures.extend(failure);
        Ok(finished)
    }

    fn show(record: &NoiseRecord, page: &Page) -> String {
        show::show(record, page)
    }

    fn section(rows: &[Row]) -> Section {
        section::section(rows)
    }

    fn metrics(row: &Row) -> Vec<Metric> {
        metrics::metrics(row)
    }

    fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
        findings::findings(rows)
    }

    fn then_and_now(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
        then_and_now::figures(rows)
    }
}

/// What goes into the file of `--trace`.
fn traced(path: &Path, measured: &Measured, started_unix_s: u64) -> anyhow::Result<Vec<u8>> {
    let Some(row) = measured.rows.first() else { return Ok(Vec::new()) };
    let heading = trace::Heading { scenario: &row.scenario, threshold_ns: row.threshold_ns, started_unix_s };
    trace::content(path, &heading, &measured.kept)
}

/// The gaps of the first cell, for an experiment that comes later.
fn watched(kept: GapTrace) -> WatchedGaps {
    let kept = kept.joined();
    WatchedGaps { gaps: kept.gaps.iter().map(|gap| (gap.start_ns, gap.duration_ns)).collect(), span_ns: kept.span_ns }
}
