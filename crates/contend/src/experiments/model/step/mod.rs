//! `contend model step`: what does this machine's noise do to many of it in lock-step?

mod flags;
mod measure;
mod record;
mod show;

pub use flags::Flags;
pub use record::{Method, Row, StepRecord};

use crate::session::Session;
use std::time::Duration;

/// Computes and simulates what the flags describe.
///
/// # Errors
/// Flags or a trace that make no sense, or more nodes than the trace supports.
pub fn run(flags: &Flags, session: &Session) -> anyhow::Result<StepRecord> {
    let plan = flags::Plan::of(flags, session)?;
    let progress = session.progress(Duration::from_secs(10));
    let computed = measure::compute(&plan, session, |what| progress.note(what))?;
    Ok(session.record_computed("model step", plan.parameters(), computed.rows, computed.warnings))
}
