//! The same program with other locks in its mutexes, and whether that made it faster.
//!
//! It runs plainly, with the library alone and with each lock, in random turns, again and again; compared is what the
//! runs took, and what the program says of itself.

mod client;
mod compare;
mod limit;
mod listening;
mod measure;
mod metric;
mod orphans;
mod outcome;
pub mod process;
mod scene;
mod search;
mod shell;
mod sides;
mod variant;
mod verdict;
pub mod watched;

pub mod flags;
pub mod only;
pub mod plan;
pub mod ratios;
pub mod record;
pub mod run;
pub mod section;
pub mod show;
pub mod warnings;
mod words;

use super::flags::Flags;
use super::program::Program;
use harness::{Finished, Run};
use plan::Plan;
use record::{SwapParameters, SwapRow};

/// Measures what the flags describe.
///
/// # Errors
/// Flags that make no sense; a program that cannot be started, or does not end well as it is.
pub fn run(flags: &Flags, program: Program, run: &Run<'_>) -> anyhow::Result<Finished<SwapParameters, SwapRow>> {
    let mut plan = Plan::of(flags, program, run.session)?;
    let progress = run.progress(run.session.seconds.unwrap_or_default());
    let measured = compare::run_plan(&mut plan, run.session, &progress)?;
    let failures = limit::exceeded(&plan.limits, &measured.rows);
    let cpus = run.session.cpus.clone();
    let mut finished =
        Finished::measured(measured.parameters, measured.rows, measured.warnings, cpus, run.session.seconds);
    finished.failures = measured.failures;
    finished.exceeded = failures;
    Ok(finished)
}

/// Writes the library to where its user wants it; what is said of that.
///
/// # Errors
/// It cannot be written.
pub fn write_library(path: &std::path::Path) -> anyhow::Result<String> {
    use crate::trace::names::message;
    use anyhow::Context;
    use std::io::Seek;
    use std::os::unix::fs::PermissionsExt;

    let (mut library, _) = exchange::library().context("--swap-library")?;
    library.rewind()?;
    let refused = |error: std::io::Error| {
        anyhow::anyhow!("--swap-library {}: cannot write the file: {}", path.display(), message(&error))
    };
    let mut file = std::fs::File::create(path).map_err(refused)?;
    std::io::copy(&mut library, &mut file).map_err(refused)?;
    // Programs of other users may load it, as any library.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    let path = path.display();
    Ok(format!("{path}: {} bytes; LD_PRELOAD={path} ./program\n", exchange::LIBRARY.len()))
}
