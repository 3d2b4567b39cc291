//! `contend model frames`: how often does the other thread spoil a frame?

mod flags;
mod measure;
mod record;
mod show;
mod then;

pub use flags::{Flags, Parameters};
pub use record::{FramesRecord, Row};

use crate::session::Session;

/// Computes what the flags describe.
///
/// # Errors
/// Flags or a trace that make no sense, or more quanta in a frame than there is memory for.
pub fn run(flags: &Flags, session: &Session) -> anyhow::Result<FramesRecord> {
    let plan = flags::Plan::of(flags, session)?;
    let computed = measure::compute(&plan)?;
    Ok(session.record_computed("model frames", plan.parameters(), computed.rows, computed.warnings))
}
