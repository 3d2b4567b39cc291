//! Warnings for the reader of gains.

use super::correction::WAITED;
use super::locks::Found;
use super::record::WhatIfParameters;
use instruments::warning::{Warning, WarningKind};
use launch::unsteady;
use serde::Serialize;
use terminal::{nanoseconds, percent, ratio};

const DISTURBED: f64 = 1.1;
/// Handoffs of a larger part of the time are said to widen the intervals.
const HANDED_OFF: f64 = 0.05;
/// The part of the program's time below which its limits do not explain it: then there is another limit.
const EXPLAINED: f64 = 0.9;
const SHORT_NS: f64 = 1_000.0;
const SLEPT: f64 = 0.3;

/// Returns all warnings.
pub fn of(found: &Found, parameters: &WhatIfParameters, plain: &[f64]) -> Vec<Warning> {
    let ratio = parameters.library_ratio.filter(|ratio| *ratio > DISTURBED);
    let disturbed = ratio.map(|ratio| DisturbedProgram { ratio }.into());
    let waited = parameters.waits_for_cpus_share.filter(|share| *share > WAITED);
    let waited = waited.map(|share| WaitsForCpus { share }.into());
    let fixed = parameters.is_time_fixed.then(|| FixedRunTime {}.into());
    let handoffs = parameters.handoffs_share.filter(|share| *share > HANDED_OFF);
    let handoffs = handoffs.map(|share| Handoffs { share }.into());
    let short = parameters.locks.iter().filter_map(|lock| {
        let mean_ns = lock.section_mean_ns.filter(|mean| *mean < SHORT_NS)?;
        Some(ShortSections { lock: lock.lock.clone(), mean_ns }.into())
    });
    let slept = found.tried.iter().filter_map(|lock| {
        let share = lock.holder_slept.filter(|share| *share > SLEPT)?;
        Some(SleepingSections { lock: lock.name.clone(), share }.into())
    });
    let whole = unsteady(plain).into_iter().chain(disturbed).chain(fixed).chain(waited).chain(handoffs);
    whole.chain(short).chain(slept).collect()
}

/// Returns a warning where both limits together explain little of the time of some value, with the least such part.
pub fn limited_elsewhere(explained: impl Iterator<Item = f64>) -> Option<Warning> {
    let share = explained.fold(1.0, f64::min);
    (share < EXPLAINED).then(|| LimitedElsewhere { share }.into())
}

/// The library alone changes the program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DisturbedProgram {
    pub ratio: f64,
}

impl WarningKind for DisturbedProgram {
    const CODE: &'static str = "disturbed_program";

    fn message(&self) -> String {
        format!(
            "with the library and unchanged critical sections, the run time is {} that of the plain program",
            ratio(self.ratio)
        )
    }

    fn remedy(&self) -> &'static str {
        "read gains as relative to the program with the library, which is slower if it acquires locks millions of \
         times a second"
    }
}

/// Threads on the way to the program's end wait for CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitsForCpus {
    pub share: f64,
}

impl WarningKind for WaitsForCpus {
    const CODE: &'static str = "waits_for_cpus";

    fn message(&self) -> String {
        format!(
            "with unchanged critical sections, the program's critical path waited for a CPU for {} of the time",
            percent(self.share)
        )
    }

    fn remedy(&self) -> &'static str {
        "stop other programs, or give the program fewer threads or more CPUs, to narrow the intervals of the gains: \
         they reach from no such wait to the longest that the CPUs allow"
    }
}

/// A large part of the time passes between a release and the waiter's next instruction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Handoffs {
    pub share: f64,
}

impl WarningKind for Handoffs {
    const CODE: &'static str = "handoffs";

    fn message(&self) -> String {
        format!("with unchanged critical sections, handoffs to waiters took {} of the time", percent(self.share))
    }

    fn remedy(&self) -> &'static str {
        "expect wide intervals: shorter critical sections may need no handoffs, so the intervals of the gains reach \
         from all of them to none"
    }
}

/// The program's clock sets its run time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FixedRunTime {}

impl WarningKind for FixedRunTime {
    const CODE: &'static str = "fixed_run_time";

    fn message(&self) -> String {
        "the run time is fixed: the program takes as long if it is stopped for half of its time".to_owned()
    }

    fn remedy(&self) -> &'static str {
        "use its rates: its wall time is not predicted"
    }
}

/// Neither its threads' waits nor the work of its CPUs explain the program's time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitedElsewhere {
    pub share: f64,
}

impl WarningKind for LimitedElsewhere {
    const CODE: &'static str = "limited_elsewhere";

    fn message(&self) -> String {
        format!(
            "with unchanged critical sections, waits of threads and work of CPUs explain at most {} of the program's \
             time",
            percent(self.share)
        )
    }

    fn remedy(&self) -> &'static str {
        "apply the gains to that part only; if the program has fewer CPUs than contend, restrict contend to the same \
         ones (taskset), and look for a CPU quota (cpu.max)"
    }
}

/// The sections take little longer than the library does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShortSections {
    pub lock: String,
    pub mean_ns: f64,
}

impl WarningKind for ShortSections {
    const CODE: &'static str = "short_sections";

    fn message(&self) -> String {
        format!(
            "{}: a critical section takes {} on average, little more than the library itself",
            self.lock,
            nanoseconds(self.mean_ns)
        )
    }

    fn remedy(&self) -> &'static str {
        "substitute the lock with --swap instead: acquiring it and handing it off is most of its cost"
    }
}

/// Holders of the lock sleep, or wait for a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SleepingSections {
    pub lock: String,
    pub share: f64,
}

impl WarningKind for SleepingSections {
    const CODE: &'static str = "sleeping_sections";

    fn message(&self) -> String {
        format!(
            "{}: its holder slept for {} of the time that other threads waited for it",
            self.lock,
            percent(self.share)
        )
    }

    fn remedy(&self) -> &'static str {
        "read the gain with care: it assumes that sleeps and I/O in the critical section become shorter too, but no \
         device becomes faster"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexplained_part_is_reported_for_the_worst_metric() {
        assert_eq!(limited_elsewhere([].into_iter()), None);
        assert_eq!(limited_elsewhere([0.95].into_iter()), None);
        let warning = limited_elsewhere([0.95, 0.6, 0.8].into_iter()).unwrap();
        assert!(warning.message().contains("explain at most 60.0 % of the program's time"), "{}", warning.message());
    }
}
