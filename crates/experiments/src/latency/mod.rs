//! `contend latency`: the cost of one lock and one unlock, spike by spike.

mod exclusion;
mod findings;
mod flags;
mod measure;
mod plan;
mod ranking;
mod record;
#[cfg(test)]
mod sample;
mod section;
mod show;

use self::record::{LatencyRecord, Row};
use flags::Flags;
use harness::{Example, Experiment, Finished, Run, SharedFlags, SurveyPart, Views};
use plan::{Parameters, Plan};
use std::time::Duration;
use terminal::Page;

/// The approximate time of calibrating, for the progress bar.
const CALIBRATION: Duration = Duration::from_millis(1500);

/// The experiment.
pub struct Latency;

impl Experiment for Latency {
    const NAME: &'static str = "latency";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend latency --lock std,parking_lot", "Compare two uncontended locks"),
        (
            "contend latency --lock std --threads 1,4 --placement spread",
            "Measure one thread, then four threads on separate CPUs",
        ),
        ("contend latency --lock all --hold 250ns --seconds 1min", "Measure every lock with a short hold time"),
        (
            "contend latency --lock std --threads 2 --stop-above 2ms --until-signal",
            "Run until a wait exceeds 2 ms; report the holder and the threads that ran",
        ),
        (
            "contend latency --lock ./libown_lock.so,std",
            "Compare a user-supplied lock, from a shared object, with a common one",
        ),
    ];
    const OUTCOMES: &'static [&'static str] = &["object_calls_ns", "stopped"];
    const SURVEY: Option<SurveyPart> =
        Some(SurveyPart { weight: 43, flags: "--lock sysv,benaphore,std --threads 1,2 --competitors 0,1" });

    const ALL_NIGHT: bool = true;

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> = Views {
        show_part: |record, page| show::sections(record.results, page),
        comparable: exclusion::comparable,
        metrics: ranking::metrics,
        ranking: ranking::ranking,
        findings: findings::findings,
        then_and_now: findings::then_and_now,
        costs: Some(findings::costs),
        next: findings::next,
        ..Views::of(show, section::section)
    };

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
        if let Some(wait) = measured.stopped.as_ref().filter(|_| measured.rows.is_empty()) {
            anyhow::bail!(
                "nothing was measured before a wait was longer than --stop-above.{}",
                show::stopped(wait, &Page::plain())
            );
        }
        let ended = measured.stopped.is_some().then(|| "latency ended: a wait was longer than --stop-above".to_owned());
        let parameters =
            Parameters { stopped: measured.stopped, ..plan.parameters(measured.order, measured.object_calls_ns) };
        let planned = run.session.planned(plan.budget);
        let not_exclusive = exclusion::errors(&measured.rows);
        let mut finished = Finished::measured(parameters, measured.rows, warnings, plan.cpu_set(), planned);
        finished.failures.extend(not_exclusive);
        finished.failures.extend(measured.lost.map(|lost| lost.to_string()));
        Ok(finished.exceeded_by(ended))
    }
}

fn show(record: &LatencyRecord<'_>, page: &Page) -> String {
    let stopped = record.parameters.stopped.iter().map(|wait| show::stopped(wait, page));
    let rows = exclusion::sound(record.results);
    let (broken, clean) = exclusion::sentences(record.results);
    let check = broken.iter().chain(&clean).map(|words| terminal::folded(words, page));
    show::show(&LatencyRecord { results: &rows, ..*record }, page) + &check.chain(stopped).collect::<String>()
}
