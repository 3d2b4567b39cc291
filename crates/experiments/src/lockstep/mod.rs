//! `contend lockstep`: a measured job on MPI, next to the model's prediction from the noise of its ranks.
//!
//! The program `lockstep` measures, under an MPI launcher; here its record is read, checked, shown and archived.

mod columns;
mod findings;
#[cfg(test)]
mod fixtures;
mod flags;
mod section;
mod show;

use ::lockstep::record::{LockstepRecord, NAME, Parameters, Row};
use ::lockstep::traces::Traces;
use ::record::{SCHEMA, check_size, content};
use anyhow::{Context, bail, ensure};
use flags::Flags;
use harness::{Example, Experiment, Finished, Run, Views};
use serde_json::Value;
use std::path::Path;

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
        let LockstepRecord { environment, parameters, results, warnings, .. } = record(&flags.record)?;
        Ok(Finished::elsewhere(parameters, results, warnings, environment))
    }
}

/// Reads the record in this file.
fn record(path: &Path) -> anyhow::Result<LockstepRecord> {
    let (name, bytes) = content(path)?;
    read(&bytes).with_context(|| format!("{name}: not a record of `lockstep`"))
}

fn read(bytes: &[u8]) -> anyhow::Result<LockstepRecord> {
    check_size(bytes)?;
    let value: Value = serde_json::from_slice(bytes)?;
    let word = |field: &str| value[field].as_str().unwrap_or("nothing").to_owned();
    ensure!(word("schema") == SCHEMA, "its schema is {}, and this version of contend reads {SCHEMA}", word("schema"));
    ensure!(word("experiment") == NAME, "its experiment is {}, not {NAME}", word("experiment"));
    let Some(rows) = value["results"].as_array() else { bail!("the record has no results") };
    let traces = Traces::of_rows(rows).map_err(anyhow::Error::msg)?;
    traces.ranks(|_| 1)?;
    Ok(serde_json::from_value(value)?)
}

#[cfg(test)]
mod tests {
    use super::fixtures::record as sample;
    use super::*;

    #[test]
    fn written_record_is_read_and_changed_one_is_refused() {
        let written = serde_json::to_value(sample()).unwrap();
        assert!(read(&serde_json::to_vec(&written).unwrap()).is_ok());
        let refused = |change: fn(&mut Value)| {
            let mut value = written.clone();
            change(&mut value);
            format!("{:#}", read(&serde_json::to_vec(&value).unwrap()).unwrap_err())
        };
        assert!(refused(|value| value["schema"] = "contend/2".into()).contains("its schema is contend/2"));
        assert!(refused(|value| value["experiment"] = "noise".into()).contains("its experiment is noise"));
        let last = |value: &mut Value| value["results"].as_array().unwrap().len() - 1;
        assert!(refused(|value| value["results"] = Value::Array(Vec::new())).contains("the record has no ranks"));
        let at = last(&mut written.clone());
        let mut value = written.clone();
        value["results"][at]["trace"] = "# span_ns 5;1 2".into();
        assert!(format!("{:#}", read(&serde_json::to_vec(&value).unwrap()).unwrap_err()).contains("watched for 5 ns"));
    }
}
