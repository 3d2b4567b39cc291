//! `contend` without a command: every experiment briefly, its findings in words, and the old documents next to today's
//! values.

mod flags;
mod measure;
mod page;
mod plan;

pub use flags::Flags;

use crate::commands::shown::survey::{closing, show};
use crate::commands::survey_record::{NAME, failures};
use crate::commands::{cores, methods};
use crate::output::{Destination, View};
use harness::{AnyFinished, AnyRecord, Finished, Outcome, Session, SharedFlags, output};
use page::PagePlace;
use plan::Plan;
use terminal::Page;

/// Runs the survey, delivers its record, and writes a page.
///
/// # Errors
/// Flags leave nothing to measure; the page may not be written there; or no experiment has a result.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    if shared.explain {
        output::print(&terminal::folded(methods::SURVEY, &Page::of_stdout()))?;
        return Ok(Outcome::Done);
    }
    let mut session = Session::open(shared)?;
    cores::recall(&mut session, shared);
    let destination = Destination::open(shared)?;
    let plan = Plan::of(flags, &session)?;
    let page = PagePlace::of(flags, shared)?;
    let record = measured(&plan, &session, shared)?;
    if record.results.is_empty() && !session.interruption.is_requested() {
        anyhow::bail!("nothing was measured: {}", failures(&record.warnings).join("; "));
    }
    let outcome = destination.deliver(record.clone(), &Screen, None);
    // Neither failure prevents the other.
    page.leave(&record, shared);
    outcome
}

fn measured(plan: &Plan, session: &Session, shared: &SharedFlags) -> anyhow::Result<AnyRecord> {
    let progress = harness::Progress::over(plan.budget, &session.interruption, session.shows_progress());
    let progress = progress.with_live(&session.live);
    let found = measure::run_plan(plan, session, shared, &progress)?;
    let (parameters, cpus) = (serde_json::to_value(found.parameters)?, session.cpus.clone());
    let mut finished: AnyFinished = Finished::measured(parameters, found.rows, found.warnings, cpus, Some(plan.budget));
    Ok(finished.take_record(NAME, session))
}

/// The whole record, or the closing screen.
struct Screen;

impl View for Screen {
    fn show(&self, record: &AnyRecord, page: &Page) -> anyhow::Result<String> {
        show(record, page)
    }

    fn closing(&self, record: &AnyRecord, whole: &str, page: &Page) -> anyhow::Result<Option<String>> {
        closing(record, whole, page).map(Some)
    }
}
