//! `contend throughput`: ulockflex, the benchmark of 2002, on today's locks.

mod conditions;
mod findings;
mod flags;
mod measure;
mod overview;
mod plan;
mod ranking;
mod record;
mod show;
mod ulockflex_2002;

use self::record::Row;
use flags::Flags;
use harness::{Example, Experiment, Finished, Layout, Run, SharedFlags, SurveyPart, Views};
use plan::{Parameters, Plan};

/// The experiment.
pub struct Throughput;

impl Experiment for Throughput {
    const NAME: &'static str = "throughput";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend throughput --lock std,adaptive --children 1,4", "Compare two locks with one thread and with four"),
        (
            "contend throughput --questions --lock std,parking_lot,adaptive --seconds 60",
            "Compare locks under the questions that decide between them",
        ),
        ("contend throughput --lock list", "List the locks that can be measured"),
        (
            "contend throughput --processes --nonhold 7us --hold 3us",
            "Measure locks between processes, with one mix of work",
        ),
    ];
    const SURVEY: Option<SurveyPart> = Some(SurveyPart {
        weight: 15,
        flags: "--lock sysv,usema,pthread,std,adaptive --children 2,4 --nonhold 7us --hold 3us",
    });

    const ALL_NIGHT: bool = true;

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> = Views {
        layouts: &[Layout {
            name: "ulockflex",
            about: "the table of 2002, column by column",
            write: |record| show::ulockflex(record.results),
        }],
        comparable: |rows| ranking::sound(rows),
        metrics: findings::metrics,
        ranking: |rows| ranking::ranking(rows),
        findings: findings::findings,
        then_and_now: findings::then_and_now,
        next: findings::next,
        ..Views::of(show::show, show::section)
    };

    fn answer(flags: &Flags, _: &SharedFlags) -> anyhow::Result<Option<String>> {
        Ok(flags.asks_for_list().then(locks::list))
    }

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let plan = Plan::of(flags, run.session)?;
        let budget = plan.expected_time();
        let progress = run.progress(budget);
        progress.note("calibrating");
        let instruments = run.calibrated()?;
        let measured = measure::run_plan(&plan, run.session, instruments, &progress)?;
        let warnings = instruments.warnings().into_iter().chain(measured.warnings).collect();
        let (parameters, cpus) = (plan.parameters(measured.order), run.session.cpus.clone());
        let planned = run.session.planned(budget);
        let not_exclusive = ranking::errors(&measured.rows);
        let mut finished = Finished::measured(parameters, measured.rows, warnings, cpus, planned);
        finished.failures.extend(not_exclusive);
        finished.failures.extend(measured.lost.map(|lost| lost.to_string()));
        Ok(finished)
    }
}
