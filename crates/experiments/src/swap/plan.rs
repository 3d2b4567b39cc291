//! The plan that comes of the flags, and the variants of a program that are compared.

use super::flags::SwapFlags;
use super::record::TIMES;
use super::variant::{self, Found, Variant};
use super::verdict;
use blame::Lost;
use harness::{Session, UsageError};
use launch::{FEWEST_RUNS, Limit, ProgramFlags};

/// Everything that the measurement needs to know.
pub struct Plan {
    pub launch: launch::Plan,
    pub locks: Vec<&'static exchange::Named>,
    /// The mutexes that are substituted; all if there is none.
    pub only: Found,
    /// The mutexes among which `--search` looks for those that matter.
    pub search: Option<Found>,
    /// Events that were lost in the runs that ranked the locks.
    pub lost: Lost,
    pub limits: Vec<Limit>,
}

impl Plan {
    /// Checks the flags against each other and against the program. Mutexes that are named by their rank are found in a
    /// traced run.
    pub fn of(flags: &SwapFlags, program: &ProgramFlags, session: &Session) -> anyhow::Result<Self> {
        let locks = flags.locks();
        let fewest = fewest_runs(&locks, flags)?;
        let launch = launch::Plan::of(program, &flags.comparison, fewest, session)?;
        let (only, mut lost) = variant::find(&flags.swap_only, &launch, &session.interruption)?;
        let mut search = None;
        if flags.search {
            let (found, lost_in_search) = variant::candidates(&launch, &session.interruption)?;
            (search, lost) = (Some(found), lost.or(lost_in_search));
        }
        Ok(Self { launch, locks, only, search, lost, limits: flags.fail_if.clone() })
    }

    /// Returns the variants that are compared.
    pub fn variants(&self) -> Vec<Variant> {
        let pass = Variant { lock: exchange::PASS, only: Found::new() };
        let locks = self.locks.iter().map(|lock| Variant { lock: lock.name, only: self.only.clone() });
        [Variant::plain(), pass].into_iter().chain(locks).collect()
    }
}

/// Returns the fewest runs of each variant with which a verdict is possible. Checked before anything runs.
fn fewest_runs(locks: &[&exchange::Named], flags: &SwapFlags) -> Result<u64, UsageError> {
    let comparisons = (1 + locks.len()) * (TIMES + flags.comparison.runs_of_each.metric.len());
    let fewest = verdict::fewest_runs(comparisons).max(FEWEST_RUNS);
    match flags.comparison.runs {
        Some(runs) if runs < fewest => Err(UsageError(format!(
            "--runs {runs}: too few for {comparisons} comparisons, none of which could show a difference; allowed: \
             {fewest} to 10000; raise --runs, or name fewer locks and metrics"
        ))),
        _ => Ok(fewest),
    }
}
