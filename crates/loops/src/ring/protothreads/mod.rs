//! Our own stackless threads, hand-written and async, under any scheduler; and ordinary futures that wake each other.

mod asynchronous;
mod hand_written;
mod journey;
mod ordinary;
mod successor;

pub use asynchronous::ring as asynchronous;
pub use hand_written::ring as hand_written;
pub use ordinary::ring as ordinary;
pub use successor::{Anywhere, Backward, Forward};

use crate::ring::ring_spec::{RingResult, RingSpec};
use ::protothreads::{Bitmap, Scheduler};
use std::cell::Cell;
use std::io;

/// Bytes of a thread that knows its next, with its token and its scheduler's link.
pub const HAND_WRITTEN_BYTES: usize = hand_written::BYTES;
pub const ASYNC_BYTES: usize = 40;

/// Threads keep their nexts only if the ring has an arrangement.
pub fn hand_written_anywhere(spec: &RingSpec, scheduler: impl Scheduler) -> io::Result<RingResult> {
    match spec.arrangement {
        None => hand_written::<Forward>(spec, scheduler),
        Some(_) => hand_written::<Anywhere>(spec, scheduler),
    }
}

/// Threads keep their nexts only if the ring has an arrangement.
pub fn asynchronous_anywhere(spec: &RingSpec, scheduler: impl Scheduler) -> io::Result<RingResult> {
    match spec.arrangement {
        None => asynchronous::<Forward>(spec, scheduler),
        Some(_) => asynchronous::<Anywhere>(spec, scheduler),
    }
}

/// A bit for each thread.
pub fn bitmap(threads: usize) -> Bitmap<Vec<Cell<u64>>> {
    Bitmap::new(vec![Cell::new(0); threads.div_ceil(64)])
}
