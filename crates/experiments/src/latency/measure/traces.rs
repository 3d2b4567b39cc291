//! The memory that rounds are recorded in.

use super::baseline::BASELINE_ROUNDS;
use super::slice::Slice;
use crate::latency::plan::Plan;
use loops::latency::{Round, Trace};

/// All traces together stay below this.
const TRACE_BYTES: usize = 512 << 20;

/// A trace for each thread of the largest cell, and one for the second baseline of a thread that is alone.
pub struct Traces {
    pub of_threads: Vec<Trace>,
    pub spare: Trace,
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
        let traces = Self { of_threads: (0..threads).map(|_| made(capacity)).collect(), spare: made(BASELINE_ROUNDS) };
        (traces, not_locked)
    }
}
