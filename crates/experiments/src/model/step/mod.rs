//! `contend model step`: what does this machine's noise do to many of it in lock-step?

mod flags;
mod measure;
mod record;
mod show;

pub use flags::{Flags, Parameters};
pub use record::{Method, Row, StepRecord};

use super::Trace;
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

/// The exact figures for a trace that is at hand, without a simulated barrier.
///
/// # Errors
/// A trace that makes no sense, or is too short for steps of this length.
pub fn exact(trace: Trace, step: Duration, session: &Session) -> anyhow::Result<StepRecord> {
    let plan = flags::Plan::exact(trace, step, session)?;
    let computed = measure::compute(&plan, session, |_| ())?;
    Ok(session.record_computed("model step", plan.parameters(), computed.rows, computed.warnings))
}
