//! `contend model locks`: locks on more cores than this machine has, from the costs of this one.

mod agreement;
mod findings;
mod flags;
mod measure;
mod plan;
mod record;
mod section;
mod show;

use self::record::Row;
use agreement::{Agreement, Comparison};
use flags::Flags;
use harness::{Example, Experiment, Finished, Run, Views};
use plan::{Parameters, Plan};
use std::time::Duration;

/// The experiment.
pub struct Locks;

/// The approximate time of the computation, for the progress bar.
const COMPUTATION: Duration = Duration::from_secs(20);

impl Experiment for Locks {
    const NAME: &'static str = "model locks";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend model locks --cores 1,4,16,64 --nodes 2", "Model all locks on up to 64 cores in two NUMA nodes"),
        (
            "contend model locks --costs ring.json",
            "Take the costs from a record of `contend ring --output ring.json --format json`",
        ),
        (
            "contend model locks --costs ring.json --against throughput.json",
            "Model the configurations of a record of `contend throughput`, and state the error",
        ),
    ];
    /// The experiment computes, and so has no use for these.
    const UNUSED: &'static [&'static str] = &["seconds", "cpus", "neighbour"];

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> = Views { metrics: findings::metrics, ..Views::of(show::show, section::section) };

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let plan = Plan::of(flags, run.session)?;
        let computed = measure::compute(&plan, run.session, &run.progress(COMPUTATION))?;
        let comparisons: Vec<Comparison> = computed.rows.iter().filter_map(Row::comparison).collect();
        let parameters = plan.parameters(Agreement::of(&comparisons));
        Ok(Finished::computed(parameters, computed.rows, computed.warnings))
    }
}
