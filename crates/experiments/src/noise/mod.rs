//! `contend noise`: the tasks and interrupts that take the CPU from a running thread.

mod by_us;
mod cause_groups;
mod cause_sums;
mod cells;
mod every_cpu;
mod findings;
mod flags;
mod live;
mod longest_gap;
mod measure;
mod plan;
mod record;
#[cfg(test)]
mod sample;
mod section;
mod show;
mod stops;
mod timer;
mod trace;
mod wake;

use self::record::{NoiseRecord, Row};
use flags::{Flags, View};
use harness::output::OutputFile;
use harness::{Example, Experiment, Finished, Run, SurveyPart, Views, WatchedGaps};
use instruments::cpus::CpuSet;
use instruments::warning::{ClockFallback, Interrupted, Warning};
use live::Live;
use measure::{GapTrace, Measured};
use plan::{Parameters, Plan};
use std::path::Path;
use std::time::Duration;
use terminal::Page;

pub use wake::Wake;

/// The experiment.
pub struct Noise;

impl Experiment for Noise {
    const NAME: &'static str = "noise";
    const METHOD: &'static str = concat!(include_str!("method.md"), "\n", include_str!("wake/method.md"));
    const EXAMPLES: &'static [Example] = &[
        ("contend noise", "Measure what interrupts a running thread, and print the setting that stops each cause"),
        (
            "contend noise --scenario quiet,competitor,both,rescheduler",
            "Repeat the test of 1999: alone, with a competing thread, and with a rescheduler",
        ),
        ("contend noise --scenario quiet --interval 1s", "Print one line per second about an otherwise idle machine"),
        (
            "contend noise --cpus all --seconds 1min",
            "Measure all CPUs at once; find the quietest, and gaps that several share",
        ),
        (
            "contend noise --wake 1ms --policy fifo:80 --cpus all",
            "Measure and attribute the wake-up latency of a real-time thread on each CPU",
        ),
        (
            "contend noise --stop-above 500us --until-signal",
            "Run until a gap exceeds 500 µs; report the threads that ran during it",
        ),
        ("contend noise --remedies --seconds 60", "Find the remedies that help against a competing thread"),
        (
            "contend noise --seconds 60 --trace quiet.trace",
            "Write every gap of one minute to a file, for `contend model step`",
        ),
    ];
    const SURVEY: Option<SurveyPart> =
        Some(SurveyPart { weight: 25, flags: "--scenario quiet,competitor,both --weight-ratio 68" });

    const ALL_NIGHT: bool = true;

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> = Views {
        metrics: findings::metrics,
        findings: findings::findings,
        then_and_now: findings::then_and_now,
        costs: Some(findings::costs),
        next: |record| findings::next(record.parameters, record.results),
        ..Views::of(show, |rows| section::section(&told_apart(rows)))
    };

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
        let turns = live.of_turns();
        let mut measured = measure::run_plan(&plan, run.session, calibration.clock, &mut live, &turns)?;
        let failure = live.end().err().map(|error| format!("{error:#}"));

        let trace = trace.filter(|_| !measured.rows.is_empty());
        let trace = trace.map(|(path, file)| (file, traced(path, &measured, run.session.started_unix_s())));
        if let Some(passed) = run.passed() {
            passed.gaps = Some(watched(std::mem::take(&mut measured.kept)));
        }
        let fallback = calibration.fallback.map(|reason| Warning::from(ClockFallback { reason }));
        let short = longest_gap::too_short(&measured.rows);
        let warnings =
            fallback.into_iter().chain(measured.warnings).chain(short).chain(unfinished(&plan, run)).collect();
        let planned = plan.expected_time().and_then(|budget| run.session.planned(budget));
        let parameters = plan.parameters(measured.order);
        let mut finished = finished(parameters, measured.rows, warnings, plan.cpus, planned);
        finished.is_printed = view == Some(View::Json) && !run.shared.writes_a_file();
        finished.files.extend(trace);
        finished.failures.extend(failure);
        Ok(finished)
    }
}

fn show(record: &NoiseRecord<'_>, page: &Page) -> String {
    let rows = record.results;
    let text = match record.parameters.every_cpu.is_empty() {
        true => show::show(record, page),
        false => every_cpu::show(rows, page),
    };
    let name = |row: &Row| {
        if record.parameters.every_cpu.is_empty() { row.scenario.clone() } else { format!("CPU {}", row.cpu) }
    };
    let histogram = by_us::table(rows.iter().map(|row| (name(row), &row.gaps_by_us[..])), page);
    text + &histogram + &show::stopped(rows, page)
}

/// Returns the outcome of gaps.
///
/// A gap that ended the measurement, because of `--stop-above`, fails the command.
fn finished(
    parameters: Parameters,
    rows: Vec<Row>,
    warnings: Vec<Warning>,
    cpus: CpuSet,
    planned: Option<Duration>,
) -> Finished<Parameters, Row> {
    let is_stopped = rows.iter().any(|row| row.stopped.is_some());
    Finished::measured(parameters, rows, warnings, cpus, planned).exceeded_by(plan::ended_by(is_stopped))
}

/// Returns a warning for a run that counts its readings and was cut short, since it has no planned time.
fn unfinished(plan: &Plan, run: &Run<'_>) -> Option<Warning> {
    let is_unfinished = plan.counts_samples() && run.session.is_cut_short();
    let measured_s = run.session.elapsed().as_secs_f64();
    is_unfinished.then(|| Warning::from(Interrupted { measured_s, planned_s: None }))
}

/// Samples several CPUs at once.
fn of_every_cpu(plan: Plan, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
    let progress = run.progress(plan.expected_time().unwrap_or_default());
    progress.note("calibrating");
    let calibration = run.clock();
    let measured = measure::every_cpu::run_plan(&plan, run.session, calibration.clock, &progress)?;
    let fallback = calibration.fallback.map(|reason| Warning::from(ClockFallback { reason }));
    let warnings = fallback.into_iter().chain(measured.warnings).collect();
    let planned = plan.expected_time().and_then(|budget| run.session.planned(budget));
    let parameters = plan.parameters(measured.order);
    Ok(finished(parameters, measured.rows, warnings, plan.cpus, planned))
}

/// Adds the CPU to the names of rows of one scenario on several CPUs.
fn told_apart(rows: &[Row]) -> Vec<Row> {
    let several = |row: &Row| rows.iter().any(|other| other.scenario == row.scenario && other.cpu != row.cpu);
    let named = |row: &Row| match several(row) {
        true => Row { scenario: format!("{}, CPU {}", row.scenario, row.cpu), ..row.clone() },
        false => row.clone(),
    };
    rows.iter().map(named).collect()
}

/// Returns the content of the file of `--trace`.
fn traced(path: &Path, measured: &Measured, started_unix_s: u64) -> anyhow::Result<Vec<u8>> {
    let Some(row) = measured.rows.first() else { return Ok(Vec::new()) };
    let heading = trace::Heading { scenario: &row.scenario, threshold_ns: row.threshold_ns, started_unix_s };
    trace::content(path, &heading, &measured.kept)
}

/// Returns the gaps of the first cell, for a later experiment.
fn watched(kept: GapTrace) -> WatchedGaps {
    let kept = kept.joined();
    WatchedGaps { gaps: kept.gaps.iter().map(|gap| (gap.start_ns, gap.duration_ns)).collect(), span_ns: kept.span_ns }
}
