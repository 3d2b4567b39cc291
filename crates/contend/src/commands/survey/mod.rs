//! `contend` without a command: every experiment briefly, what it found in words, and the old documents beside today.

mod findings;
mod flags;
mod measure;
mod page;
mod plan;
mod record;
#[cfg(test)]
mod samples;
mod show;
mod then_and_now;

pub use findings::Finding;
pub use flags::Flags;
pub use record::{Figure, SurveyRecord};
pub use then_and_now::ThenAndNow;

use crate::cli::Outcome;
use crate::output::Destination;
use crate::session::{Session, SharedFlags};
use instruments::warning::Warning;
use page::PagePlace;
use plan::Plan;

/// Runs the survey, delivers its record, and leaves a page.
///
/// # Errors
/// Flags that leave nothing to measure; a page that may not be written there; none of the experiments brought anything.
pub fn run(
    flags: &Flags,
    shared: &SharedFlags,
    session: &Session,
    destination: Destination,
) -> anyhow::Result<Outcome> {
    let plan = Plan::of(&flags.parts()?, session);
    let page = PagePlace::of(flags, shared)?;
    let progress = session.progress(plan.budget);
    let measured = measure::run_plan(&plan, session, |what| progress.note(what))?;
    drop(progress);
    let record: SurveyRecord =
        session.record("survey", &session.cpus, plan.budget, measured.parameters, measured.rows, measured.warnings);
    if record.results.is_empty() && !session.interruption.asked() {
        anyhow::bail!("nothing was measured: {}", failures(&record.warnings).join("; "));
    }
    let outcome = destination.deliver(&record);
    // Neither costs the other.
    page.leave(&record, shared);
    outcome
}

/// What failed, in words.
fn failures(warnings: &[Warning]) -> Vec<String> {
    warnings
        .iter()
        .filter(|warning| matches!(warning, Warning::ExperimentFailed { .. }))
        .map(Warning::message)
        .collect()
}
