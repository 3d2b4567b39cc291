//! The measurement: one experiment after the other with the same instruments. A failure of one does not affect the
//! others.

use super::plan::{Part, Plan};
use crate::commands::survey_record::{ExperimentFailed, Parameters, comparison, finding, placed, tagged};
use anyhow::Context;
use harness::{Interrupted, LeftOut, Passed, Progress, Rows, Run, Session, SharedFlags};
use instruments::warning::{self, Warning};
use serde_json::Value;
use std::cell::OnceCell;
use terminal::without_error_numbers;

/// The results of the survey.
#[derive(Default)]
pub struct Measured {
    pub rows: Vec<Value>,
    pub parameters: Parameters,
    pub warnings: Vec<Warning>,
}

/// Runs the experiments of the plan, and reports the current one.
///
/// # Errors
/// The measured rows are not in the format of the experiment.
pub fn run_plan(plan: &Plan, session: &Session, shared: &SharedFlags, progress: &Progress) -> anyhow::Result<Measured> {
    let mut measured = Measured { parameters: parameters(plan), ..Measured::default() };
    progress.note("calibrating");
    let (instruments, mut passed) = (OnceCell::new(), Passed::default());
    for part in &plan.parts {
        if session.interruption.is_requested() {
            break;
        }
        let within = session.within(part.budget);
        let progress = progress.of_part(part.entry.name);
        let mut run = Run::part(&within, shared, &instruments, progress, &mut passed);
        if let Err(error) = measured.run(part, &mut run)
            && !error.is::<Interrupted>()
        {
            measured.warnings.push(missing(part.entry.name, error));
        }
    }
    measured.conclude(plan).context("cannot read back the results")?;
    // Several experiments have the same warnings about the machine.
    measured.warnings = record::distinct(&measured.warnings, Warning::clone);
    Ok(measured)
}

fn parameters(plan: &Plan) -> Parameters {
    Parameters::new(plan.budget, plan.parts.iter().map(Part::parameters).collect())
}

impl Measured {
    fn run(&mut self, part: &Part, run: &mut Run<'_>) -> anyhow::Result<()> {
        let entry = part.entry;
        let finished = entry.run_part(part.short, run)?;
        self.parameters.set(entry, finished.parameters);
        for row in finished.rows {
            self.rows.push(tagged(entry.name, row)?);
        }
        self.warnings.extend(finished.warnings);
        // A failure in an experiment does not affect its other results.
        self.warnings.extend(finished.failures.iter().map(|failure| failed(entry.name, failure)));
        Ok(())
    }

    /// Adds the values of the old documents to the rows, and the findings in them.
    fn conclude(&mut self, plan: &Plan) -> anyhow::Result<()> {
        let read = plan.parts.iter().map(|part| part.entry.read(&placed(&self.rows, part.entry.name)));
        let read: Vec<Box<dyn Rows>> = read.collect::<anyhow::Result<_>>()?;
        let compared = read.iter().flat_map(|rows| rows.then_and_now()).map(comparison);
        let further: Vec<_> = compared.chain(read.iter().flat_map(|rows| rows.findings()).map(finding)).collect();
        self.rows.extend(further.into_iter().collect::<Result<Vec<Value>, _>>()?);
        Ok(())
    }
}

fn missing(experiment: &str, error: anyhow::Error) -> Warning {
    match error.downcast::<LeftOut>() {
        Ok(LeftOut { what, reason }) => Warning::from(warning::LeftOut { what, reason }),
        Err(error) => failed(experiment, &format!("{error:#}")),
    }
}

fn failed(experiment: &str, reason: &str) -> Warning {
    let reason = without_error_numbers(reason).split_whitespace().collect::<Vec<_>>().join(" ");
    Warning::from(ExperimentFailed { experiment: experiment.to_owned(), reason })
}
