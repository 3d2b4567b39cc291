//! `contend trace --what-if`: the gain from shorter critical sections. The program runs as if the critical sections of
//! a lock were shorter by a share, in random turns with unchanged ones, and its run time is corrected by the delays.
//!
//! The module `preload::what_if` of `interpose` says how the library does that, and why that is right.

mod correction;
mod flags;
mod gains;
mod locks;
mod measure;
mod record;
mod show;
#[cfg(test)]
mod simulated;
mod variants;
mod warnings;

use self::record::{WhatIfParameters, WhatIfRow};
use flags::WhatIfFlags;
use harness::{Experiment, Finished, ModeFlags, Run, Views, report_to};
use launch::{FEWEST_RUNS, LaunchFlags, Plan};

/// The experiment.
pub struct WhatIf;

impl Experiment for WhatIf {
    const NAME: &'static str = "trace what-if";
    const FLAG: Option<&'static str> = Some("what_if");
    const OUTCOMES: &'static [&'static str] =
        &["locks", "locks_left", "slopes", "library_ratio", "waits_for_cpus_share"];

    type Flags = ModeFlags<WhatIfFlags, LaunchFlags>;
    type Parameters = WhatIfParameters;
    type Row = WhatIfRow;

    const VIEWS: Views<Self> =
        Views { next: |_| Some(report_to("what-if.html")), ..Views::of(show::show, show::section) };

    fn run(flags: &Self::Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<WhatIfParameters, WhatIfRow>> {
        let LaunchFlags { program, comparison } = &flags.shared;
        let plan = Plan::of(program, comparison, FEWEST_RUNS, run.session)?;
        let calibration = run.clock();
        let planned = run.session.seconds;
        let progress = run.progress(planned.unwrap_or_default());
        let measured = measure::run_plan(&plan, flags.own.lock(), run.session, &calibration, &progress)?;
        let cpus = run.session.cpus.clone();
        let mut finished = Finished::measured(measured.parameters, measured.rows, measured.warnings, cpus, planned);
        finished.failures = measured.failures;
        Ok(finished)
    }
}
