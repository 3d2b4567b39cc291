//! `contend noise`: who takes the CPU from a running thread.

mod cells;
mod every_cpu;
mod findings;
mod flags;
mod left;
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
        ("contend noise --cpus all --seconds 1min", "Every CPU at once: which is best, and what hits several together"),
        ("contend noise --remedies --seconds 60", "What helps here against a competitor"),
        ("contend noise --seconds 60 --trace quiet.trace", "Every gap of a minute in a file, for `contend model step`"),
    ];
    const SURVEY: Option<SurveyPart> = Some(SurveyPart { weight: 26, flags: "--scenario quiet,competitor,both" });

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        if let Some(chosen) = every_cpu::chosen(flags, run.shared, run.session)? {
            return of_every_cpu(Plan::of_every_cpu(flags, run.session, chosen)?, run);
        }
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
        if record.parameters.every_cpu.is_empty() { show::show(record, page) } else { every_cpu::show(record, page) }
    }

    fn section(rows: &[Row]) -> Section {
        section::section(&told_apart(rows))
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

/// Several CPUs at once.
fn of_every_cpu(plan: Plan, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
    let progress = run.progress(plan.expected_time().unwrap_or_default());
    progress.note("calibrating");
    let calibration = run.clock();
    let measured = measure::every_cpu::run_plan(&plan, run.session, calibration.clock, &progress)?;
    let fallback = calibration.fallback.map(|reason| Warning::from(ClockFallback { reason }));
    let warnings = fallback.into_iter().chain(measured.warnings).collect();
    let (parameters, planned) = (plan.parameters(measured.order), plan.expected_time());
    Ok(Finished::measured(parameters, measured.rows, warnings, plan.cpus, planned))
}

/// Rows of one scenario on several CPUs have the CPU in their names.
fn told_apart(rows: &[Row]) -> Vec<Row> {
    let several = |row: &Row| rows.iter().any(|other| other.scenario == row.scenario && other.cpu != row.cpu);
    let named = |row: &Row| match several(row) {
        true => Row { scenario: format!("{}, CPU {}", row.scenario, row.cpu), ..row.clone() },
        false => row.clone(),
    };
    rows.iter().map(named).collect()
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
