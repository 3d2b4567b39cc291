//! `contend lockstep`: a measured job on MPI, next to the model's prediction from the noise of its ranks.
//!
//! The program `lockstep` measures, under an MPI launcher; here its record is read, shown and archived.

mod findings;
#[cfg(test)]
mod fixtures;
mod flags;
mod read;
mod section;
mod show;

use ::lockstep::record::{LockstepRecord, NAME, Parameters, Row};
use flags::Flags;
use harness::{Example, Experiment, Finished, Run, Views};

/// The experiment.
pub struct Lockstep;

impl Experiment for Lockstep {
    const NAME: &'static str = NAME;
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend lockstep job.json", "Show a job measured by `mpirun -n 2 lockstep --output job.json`"),
        ("contend model step --ranks job.json", "Predict the effect of the same noise on many nodes"),
    ];
    /// The job was measured elsewhere.
    const UNUSED: &'static [&'static str] = &["seconds", "seed", "cpus", "neighbour"];

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    const VIEWS: Views<Self> =
        Views { metrics: findings::metrics, findings: findings::findings, ..Views::of(show::show, section::section) };

    fn run(flags: &Flags, _: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        let LockstepRecord { environment, parameters, results, warnings, .. } = read::record(&flags.record)?;
        Ok(Finished::elsewhere(parameters, results, warnings, environment))
    }
}
