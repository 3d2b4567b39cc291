//! Our own stackless threads, hand-written and async, under any scheduler; and ordinary futures that wake each other.

mod asynchronous;
mod hand_written;
mod journey;
mod ordinary;
mod way;

pub use asynchronous::ring as asynchronous;
pub use hand_written::ring as hand_written;
pub use ordinary::ring as ordinary;
pub use way::{Anywhere, Backward, Forward};

use crate::ring::contestants::built_in::course::{Course, Lap};
use ::protothreads::{Bitmap, Scheduler};
use std::cell::Cell;
use std::io;

/// Bytes of a thread that knows its next, with its token and its scheduler's link.
pub const HAND_WRITTEN_BYTES: usize = hand_written::BYTES;
pub const ASYNC_BYTES: usize = 40;

/// Threads keep their nexts only if the ring has an arrangement.
pub fn hand_written_anywhere(course: &Course, scheduler: impl Scheduler) -> io::Result<Lap> {
    match course.arrangement {
        None => hand_written::<Forward>(course, scheduler),
        Some(_) => hand_written::<Anywhere>(course, scheduler),
    }
}

/// Threads keep their nexts only if the ring has an arrangement.
pub fn asynchronous_anywhere(course: &Course, scheduler: impl Scheduler) -> io::Result<Lap> {
    match course.arrangement {
        None => asynchronous::<Forward>(course, scheduler),
        Some(_) => asynchronous::<Anywhere>(course, scheduler),
    }
}

/// A bit for each thread.
pub fn bitmap(threads: usize) -> Bitmap<Vec<Cell<u64>>> {
    Bitmap::new(vec![Cell::new(0); threads.div_ceil(64)])
}
