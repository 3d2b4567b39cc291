//! `contend throughput`: ulockflex, the benchmark of 2002, on today's locks.

mod flags;
mod measure;
mod record;
mod show;
mod then;

pub use flags::Flags;
pub use record::{Row, ThroughputRecord};

use crate::session::Session;

/// Runs the experiment that the flags describe.
///
/// # Errors
/// Flags that do not fit together, a lock, a thread or a process that the system refuses, a lock that does not exclude.
pub fn run(flags: &Flags, session: &Session) -> anyhow::Result<ThroughputRecord> {
    let plan = flags::Plan::of(flags, session)?;
    let budget = plan.expected_time();
    let progress = session.progress(budget);
    progress.note("calibrating");
    let measured = measure::run_plan(&plan, session, |what| progress.note(what))?;
    Ok(session.record(
        "throughput",
        &session.cpus,
        budget,
        plan.parameters(measured.order),
        measured.rows,
        measured.warnings,
    ))
}
