//! `contend model frames`: the frames that the other thread spoils.

mod findings;
mod flags;
mod measure;
mod plan;
mod record;
mod show;

use self::record::Row;
use flags::Flags;
use harness::{Example, Experiment, Finished, Interrupted, Run, SurveyPart, Views};
use plan::{Parameters, Plan};
use std::sync::Arc;

/// The experiment.
pub struct Frames;

impl Experiment for Frames {
    const NAME: &'static str = "model frames";
    const METHOD: &'static str = include_str!("../method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend model frames", "Compute the results of 1999"),
        (
            "contend model frames --policy weights --priorities 0,10 --quantum 3ms",
            "Compute the effect of a thread of nice 10 on one of nice 0, on Linux",
        ),
        (
            "contend model frames --shares 0.9,0.1 --frame 20ms",
            "Compute 50 frames per second with nine tenths of the CPU",
        ),
    ];
    /// The experiment computes, and so has no use for these.
    const UNUSED: &'static [&'static str] = &["seconds", "cpus", "neighbour"];
    const SURVEY: Option<SurveyPart> = Some(SurveyPart { weight: 0, flags: "" });

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> =
        Views { metrics: findings::metrics, then_and_now: findings::figures, ..Views::of(show::show, show::section) };

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let plan = Arc::new(Plan::of(flags, run.session)?);
        let the_same = Arc::clone(&plan);
        let computed = run
            .session
            .interruption
            .unless_requested(run.session.last_moment(), move || measure::compute(&the_same))?;
        let computed = computed.ok_or(Interrupted)??;
        Ok(Finished::computed(plan.parameters(), computed.rows, computed.warnings))
    }
}
