//! What a cell says of itself between its turns: how it is called, what it has so far, and whether it needs more.

use super::cell::Cell;
use super::offset_tally::{OFFSET, OffsetTally};
use super::series::Series;
use harness::{Shown, turns};
use instruments::statistics::comparison::Estimate;
use instruments::tally::Tally;
use std::time::Duration;

/// This many turns of the reference are enough for an interval.
const REFERENCE_TURNS: u64 = 24;
/// An uncontended lock is described by its pair, which is timed once a window whatever its length: such a configuration
/// needs less time than one that waits for the scheduler, and gets this share of it.
const LESS_ALONE: u32 = 2;

impl turns::Cell for Cell {
    fn title(&self) -> String {
        self.plan.to_string()
    }

    fn place(&self) -> (String, String) {
        let lock = if self.is_reference { "(no lock)" } else { &self.plan.lock };
        (lock.to_owned(), self.plan.conditions())
    }

    /// How long locking took in all threads.
    fn shown(&self) -> Option<Shown> {
        let (ns_per_tick, step) = self.scale.filter(|_| !self.is_reference)?;
        let mut all = Tally::new();
        self.series.iter().for_each(|series| all.merge(series.all.lock.tally()));
        (!all.is_empty()).then(|| Shown::histogram(&all, ns_per_tick, OFFSET, step as f64 * ns_per_tick))
    }

    fn so_far(&self) -> String {
        let known = self.series.first().map(|series| &series.deciding().lock);
        let rounds = known.map_or(0, |lock| lock.tally().count());
        format!("{} windows, {} iterations", terminal::count(self.slices), terminal::count(rounds))
    }

    fn turns(&self) -> u64 {
        self.slices
    }

    fn spent(&self) -> Duration {
        if self.is_alone() { self.spent * LESS_ALONE } else { self.spent }
    }

    /// The median and the 99.9 % quantile of every thread's locks and unlocks; of a free lock also its pair, by which it
    /// is ranked: without an interval of that the lock would have no rank.
    fn figures(&self) -> Vec<Estimate> {
        if self.is_reference {
            return Vec::new();
        }
        let deciding = self.series.iter().map(Series::deciding);
        let operations = deciding.flat_map(|known| [&known.lock, &known.unlock]);
        let quantiles = operations.flat_map(|known: &OffsetTally| known.figures(self.narrow));
        let pair = self.pair(|pairs| pairs.bare).filter(|_| self.is_alone());
        quantiles.chain(pair.map(|pair| Estimate { resolution: self.narrow as f64, ..pair })).collect()
    }

    /// Whether every thread had a round that was timed.
    fn has_result(&self) -> bool {
        self.series.iter().all(|series| !series.all.lock.tally().is_empty())
    }

    fn is_over(&self) -> bool {
        self.is_reference && self.slices >= REFERENCE_TURNS
    }
}
