//! `contend trace --swap`: the same program with other locks in its mutexes, and whether they make it faster.
//!
//! The program runs unmodified, with the library alone and with each lock, in random turns. The run times are compared,
//! and the metrics that the program prints.

mod compare;
mod flags;
mod measure;
mod plan;
mod record;
mod show;
mod variant;
mod verdict;

use self::record::{SwapParameters, SwapRow};
use flags::SwapFlags;
use harness::{Experiment, Finished, ModeFlags, Run, SharedFlags, Views, report_to};
use launch::ProgramFlags;
use plan::Plan;

/// The experiment.
pub struct Swap;

impl Experiment for Swap {
    const NAME: &'static str = "trace swap";
    const FLAG: Option<&'static str> = Some("swap");
    const OUTCOMES: &'static [&'static str] = &["search", "search_flags", "left", "watched", "unwatched"];

    type Flags = ModeFlags<SwapFlags, ProgramFlags>;
    type Parameters = SwapParameters;
    type Row = SwapRow;

    const VIEWS: Views<Self> = Views { next: |_| Some(report_to("swap.html")), ..Views::of(show::show, show::section) };

    fn answer(flags: &Self::Flags, _: &SharedFlags) -> anyhow::Result<Option<String>> {
        flags.own.swap_library.as_deref().map(write_library).transpose()
    }

    fn run(flags: &Self::Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<SwapParameters, SwapRow>> {
        let mut plan = Plan::of(&flags.own, &flags.shared, run.session)?;
        let planned = run.session.seconds;
        let progress = run.progress(planned.unwrap_or_default());
        let measured = measure::run_plan(&mut plan, run.session, &progress)?;
        let exceeded = verdict::exceeded(&plan.limits, &measured.rows);
        let cpus = run.session.cpus.clone();
        let mut finished = Finished::measured(measured.parameters, measured.rows, measured.warnings, cpus, planned);
        finished.failures = measured.failures;
        finished.exceeded = exceeded;
        Ok(finished)
    }
}

/// Writes the library to the path that the user names; returns the message about it. Programs that have loaded the one
/// before it keep that.
fn write_library(path: &std::path::Path) -> anyhow::Result<String> {
    use anyhow::Context;

    exchange::library().context("--swap-library")?;
    // Programs of other users may load it, as any library.
    harness::output::OutputFile::open("--swap-library", path)?.with_mode(0o755).write(exchange::LIBRARY)?;
    let path = path.display();
    Ok(format!("{path}: {} bytes; LD_PRELOAD={path} ./program\n", exchange::LIBRARY.len()))
}
