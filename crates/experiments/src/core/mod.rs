//! `contend core`: SMT interference on the core, its frequency, its length, and its cost.

mod findings;
mod flags;
mod measure;
mod plan;
mod record;
mod section;
mod show;

use self::record::Row;
use flags::Flags;
use harness::{Example, Experiment, Finished, Run, Views};
use plan::{Parameters, Plan};

/// The experiment.
pub struct Core;

impl Experiment for Core {
    const NAME: &'static str = "core";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend core", "Measure all CPUs for 10 s"),
        ("contend core --seconds 8h", "Measure for one night, and show the hours in which cores were shared"),
        ("contend core --seconds 2 --format csv", "Print one line per CPU, for other programs"),
    ];

    const OUTCOMES: &'static [&'static str] = &["probe_us", "groups"];

    const ALL_NIGHT: bool = true;

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> = Views {
        metrics: findings::metrics,
        findings: findings::findings,
        costs: Some(findings::costs),
        next: |record| findings::next(record.results),
        ..Views::of(show::show, section::section)
    };

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let plan = Plan::of(flags, run.session)?;
        let progress = run.progress(plan.budget);
        let clock = run.clock().clock;
        let measured = measure::run_plan(&plan, run.session, clock, &progress)?;
        let cpus = run.session.cpus.clone();
        let (probed, rows, warnings) = (measured.probed, measured.rows, measured.warnings);
        let planned = run.session.planned(plan.budget);
        let finished = Finished::measured(measured.parameters, rows, warnings, cpus, planned);
        Ok(finished.with_probed(probed))
    }
}
