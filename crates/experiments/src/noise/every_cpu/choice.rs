//! Which CPUs are read.

use crate::noise::flags::Flags;
use crate::noise::scenario::Scenario;
use harness::{CpuChoice, Session, SharedFlags, UsageError};
use instruments::cpus::CpuSet;
use instruments::warning::{LeftOut, Warning};

/// With fewer CPUs than this, none is left out of all: half of the machine would not be watched.
const SPARES_ONE: usize = 3;

/// The CPUs that are read at once, and what is said of those that are not; `None` where one reader is asked for.
///
/// Readers have the usual priority, so that the machine lives with one on each CPU. Yet what else must run takes its
/// time from them, so of `all` the first CPU is left to the rest, where there are three or more; a list is taken as it
/// is.
///
/// # Errors
/// A scenario that is not for several CPUs.
pub fn chosen(
    flags: &Flags,
    shared: &SharedFlags,
    session: &Session,
) -> Result<Option<(CpuSet, Option<Warning>)>, UsageError> {
    let Some(choice) = &shared.cpus else { return Ok(None) };
    let is_all = *choice == CpuChoice::All;
    let of_one = flags.cpu.is_some()
        || flags.samples.is_some()
        || flags.remedies
        || flags.interval.is_some()
        || flags.trace.is_some();
    let beside = flags.scenario.iter().any(|scenario| *scenario != Scenario::Quiet);
    if of_one || beside {
        return match is_all {
            true => Err(UsageError(
                "--cpus all: competitors, reschedulers, --remedies, --interval, --trace and --samples need one CPU; \
                 choose it with --cpu, or omit them"
                    .into(),
            )),
            false => Ok(None),
        };
    }
    if !is_all {
        return Ok((session.cpus.len() > 1).then(|| (session.cpus.clone(), None)));
    }
    let first = session.cpus.first().filter(|_| session.cpus.len() >= SPARES_ONE);
    let Some(first) = first else { return Ok(Some((session.cpus.clone(), None))) };
    let reason = format!("it is left to the system; --cpus {} measures it too", session.cpus);
    let warning = LeftOut { what: format!("CPU {first}"), reason }.into();
    Ok(Some((session.cpus.iter().skip(1).collect(), Some(warning))))
}
