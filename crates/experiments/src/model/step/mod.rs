//! `contend model step`: the effect of this machine's noise on a bulk-synchronous job of many nodes.

mod findings;
mod flags;
mod measure;
mod plan;
mod record;
mod show;

use self::record::Row;
use super::trace::Trace;
use flags::Flags;
use harness::{Example, Experiment, Finished, LeftOut, Run, SurveyPart, Views};
use plan::{Parameters, Plan};
use std::time::Duration;

/// The experiment.
pub struct Step;

/// The approximate time of the simulations, for the progress bar.
const SIMULATION: Duration = Duration::from_secs(10);

impl Experiment for Step {
    const NAME: &'static str = "model step";
    const METHOD: &'static str = include_str!("../method.md");
    const EXAMPLES: &'static [Example] = &[
        (
            "contend model step --trace quiet.trace",
            "Apply a trace recorded by `contend noise --trace quiet.trace` to many nodes",
        ),
        (
            "contend model step --trace quiet.trace --step 100us,1ms --nodes 100,10k",
            "Compute two step lengths on 100 and on 10,000 nodes",
        ),
        (
            "contend model step --ranks job.json --nodes 10M --extrapolate",
            "Use the traces of all ranks of a job that `lockstep` measured",
        ),
    ];
    /// The experiment computes from a trace.
    const NEEDS: Option<&'static str> = Some("a trace of noise, a file");
    const UNUSED: &'static [&'static str] = &["seconds", "cpus", "neighbour"];
    /// Its part of the survey uses the gaps of `noise`, without a simulated barrier.
    const SURVEY: Option<SurveyPart> = Some(SurveyPart { weight: 0, flags: "--step 1ms" });

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> =
        Views { metrics: findings::metrics, findings: findings::findings, ..Views::of(show::show, show::section) };

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        if let Some(record) = &flags.ranks {
            return measure::compute_ranks(record, flags, run.session);
        }
        let plan = match run.passed() {
            Some(passed) => {
                let gaps = passed.gaps.take().ok_or_else(no_gaps)?;
                let trace = Trace::measured("the quiet turns of this survey", gaps.gaps, gaps.span_ns)?;
                Plan::exact(trace, flags, run.session)?
            }
            None => Plan::of(flags, run.session)?,
        };
        let computed = measure::compute(&plan, run.session, &run.progress(SIMULATION))?;
        Ok(Finished::computed(plan.parameters(), computed.rows, computed.warnings))
    }
}

fn no_gaps() -> LeftOut {
    let reason = "the survey has no trace of this machine's noise";
    LeftOut { what: "the model of machines in lock-step".into(), reason: reason.into() }
}
