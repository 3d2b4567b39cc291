//! What would shorter sections of a lock gain? The program runs with the library of `contend trace` as if they were
//! shorter by a share, in random turns with others, and what it took is corrected by how long it was held up.
//!
//! How the library does that, and why that is right, stands in `interpose`, in the module `preload::what_if`.

mod choose;
mod corner;
mod correct;
mod fixed_time;
mod gains;
mod locks;
mod measure;
mod sides;
#[cfg(test)]
mod simulated;
mod warnings;
mod words;

pub mod flags;
pub mod record;
pub mod section;
pub mod show;

use super::flags::Flags;
use super::program::Program;
use super::swap::plan::Plan;
use harness::{Finished, Run};
use record::{WhatIfParameters, WhatIfRow};

/// Measures what the flags describe: this lock, or those that were waited for most.
///
/// # Errors
/// Flags that make no sense; a program that cannot be started, does not end well, or has no such lock.
pub fn run(
    lock: Option<&str>,
    flags: &Flags,
    program: Program,
    run: &Run<'_>,
) -> anyhow::Result<Finished<WhatIfParameters, WhatIfRow>> {
    let plan = Plan::of(flags, program, run.session)?;
    let calibration = run.clock();
    let progress = run.progress(run.session.seconds.unwrap_or_default());
    let measured = measure::run_plan(&plan, lock, run.session, &calibration, &progress)?;
    let cpus = run.session.cpus.clone();
    let mut finished =
        Finished::measured(measured.parameters, measured.rows, measured.warnings, cpus, run.session.seconds);
    finished.failures = measured.failures;
    Ok(finished)
}
