//! The memory that rounds are recorded in.

use super::baseline::BASELINE_ROUNDS;
use super::slice::Slice;
use crate::latency::plan::Plan;
use loops::latency::{Round, Trace};

/// All traces together stay below this.
const TRACE_BYTES: usize = 512 << 20;

/// A trace for each thread of the largest cell, and one for the second baseline of a thread that is alone.
pub struct Traces {
    of_threads: Vec<Trace>,
    spare: Option<Trace>,
}

impl Traces {
    /// With room for the fastest lock there could be. The second value says why memory could not be locked, if it could
    /// not.
    pub fn for_plan(plan: &Plan, slice: Slice, recording_ns: f64) -> (Self, Option<String>) {
        let threads = plan.cells.iter().map(|cell| cell.threads).max().unwrap_or(1);
        let span = slice.whole().as_nanos() as f64;
        let rounds = (span / (plan.hold_ns + recording_ns / 2.0)) as usize + BASELINE_ROUNDS;
        let capacity = rounds.min(TRACE_BYTES / threads / size_of::<Round>());
        let mut not_locked = None;
        let mut made = |capacity| {
            let (trace, refused) = Trace::with_capacity(capacity);
            not_locked = refused.or(not_locked.take());
            trace
        };
        let (of_threads, spare) = ((0..threads).map(|_| made(capacity)).collect(), Some(made(BASELINE_ROUNDS)));
        (Self { of_threads, spare }, not_locked)
    }

    /// One for each of so many threads; with the spare one, for a thread that is alone.
    pub fn lend(&mut self, threads: usize, is_alone: bool) -> Vec<(Trace, Option<Trace>)> {
        let mut spare = if is_alone { self.spare.take() } else { None };
        self.of_threads.drain(..threads).map(|trace| (trace, spare.take())).collect()
    }

    /// Those that were lent.
    pub fn take_back(&mut self, lent: impl Iterator<Item = (Trace, Option<Trace>)>) {
        let (lent, spares): (Vec<Trace>, Vec<Option<Trace>>) = lent.unzip();
        // In front, so that few threads always write to the same memory.
        drop(self.of_threads.splice(0..0, lent));
        self.spare = self.spare.take().or(spares.into_iter().flatten().next());
    }
}
