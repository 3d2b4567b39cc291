//! `contend throughput`: ulockflex, the benchmark of 2002, on today's locks.

mod flags;
mod measure;
mod record;
mod show;
mod then;

pub use flags::{Flags, Parameters, Plan};
pub use measure::run_plan;
pub use record::{Row, ThroughputRecord};

use crate::apparatus::Apparatus;
use crate::session::Session;

/// Runs the experiment that the flags describe.
///
/// # Errors
/// Flags that do not fit together, a lock, a thread or a process that the system refuses, a lock that does not exclude.
pub fn run(flags: &Flags, session: &Session) -> anyhow::Result<ThroughputRecord> {
    let plan = Plan::of(flags, session)?;
    let budget = plan.expected_time();
    let progress = session.progress(budget);
    progress.note("calibrating");
    let apparatus = Apparatus::calibrate(session)?;
    let measured = run_plan(&plan, session, &apparatus, |what| progress.note(what))?;
    let warnings = apparatus.warnings().into_iter().chain(measured.warnings).collect();
    Ok(session.record("throughput", &session.cpus, budget, plan.parameters(measured.order), measured.rows, warnings))
}
