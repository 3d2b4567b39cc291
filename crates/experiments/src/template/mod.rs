//! `contend template`: the cost of a system call. The experiment to copy: CONTRIBUTING.md explains it step by step.
//!
//! It is built with the feature `template` only. Every part that an experiment may have is here, as short as possible.

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

/// The name of the command, of the records, and of the section of the page.
const NAME: &str = "template";

/// The experiment.
pub struct Template;

impl Experiment for Template {
    const NAME: &'static str = NAME;
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend template", "Measure in batches of 1,000 calls"),
        ("contend template --batch 10k --seconds 2", "Measure in longer batches"),
    ];
    const SURVEY: Option<SurveyPart> = Some(SurveyPart { weight: 1, flags: "--batch 100" });

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> =
        Views { metrics: findings::metrics, findings: findings::findings, ..Views::of(show::show, show::section) };

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let plan = Plan::of(flags, run.session);
        let progress = run.progress(plan.budget);
        let clock = run.clock().clock;
        let measured = measure::run_plan(&plan, run.session, clock, &progress)?;
        let cpus = run.session.cpus.clone();
        Ok(Finished::measured(plan.parameters(), measured.rows, measured.warnings, cpus, Some(plan.budget)))
    }
}
