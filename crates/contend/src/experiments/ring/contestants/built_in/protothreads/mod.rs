//! Our own stackless threads, hand-written and async, under any scheduler; and ordinary futures that wake each other.

mod asynchronous;
mod hand_written;
mod ordinary;
mod way;

pub use asynchronous::ring as asynchronous;
pub use hand_written::ring as hand_written;
pub use ordinary::ring as ordinary;
pub use way::{Anywhere, Backward, Forward};

use super::{Arrangement, Course, Lap};
use ::protothreads::{Bitmap, Report, Scheduler};
use std::cell::Cell;
use std::io;

/// Bytes of a thread that knows its next, with its token and its scheduler's link.
pub const HAND_WRITTEN_BYTES: usize = hand_written::BYTES;
pub const ASYNC_BYTES: usize = 40;

/// A ring that lies in order or shuffled.
pub fn hand_written_anywhere(course: &Course, scheduler: impl Scheduler) -> io::Result<Lap> {
    match course.arrangement {
        Arrangement::InOrder => hand_written::<Forward>(course, scheduler),
        Arrangement::Shuffled => hand_written::<Anywhere>(course, scheduler),
    }
}

/// A ring that lies in order or shuffled.
pub fn asynchronous_anywhere(course: &Course, scheduler: impl Scheduler) -> io::Result<Lap> {
    match course.arrangement {
        Arrangement::InOrder => asynchronous::<Forward>(course, scheduler),
        Arrangement::Shuffled => asynchronous::<Anywhere>(course, scheduler),
    }
}

/// A bit for each thread.
pub fn bitmap(threads: usize) -> Bitmap<Vec<Cell<u64>>> {
    Bitmap::new(vec![Cell::new(0); threads.div_ceil(64)])
}

/// A token as the threads keep it.
///
/// # Errors
/// More hops than it can count.
fn token_for(hops: u64) -> io::Result<u32> {
    hops.try_into().map_err(|_| io::Error::other(format!("{hops} hops are more than a token of 32 bits can count")))
}

fn lap(answer: usize, hops_ns: f64, report: Report) -> Lap {
    Lap { answer, hops_ns, wasted_polls: Some(report.wasted_polls) }
}
