//! Our own stackless threads, hand-written and async, under any scheduler; and ordinary futures that wake each other.

mod asynchronous;
mod hand_written;
mod ordinary;
mod way;

pub use asynchronous::ring as asynchronous;
pub use hand_written::ring as hand_written;
pub use ordinary::ring as ordinary;
pub use way::{Anywhere, Backward, Forward, Way};

use super::{Course, Lap};
use ::protothreads::{Bitmap, Report, Scheduler};
use std::cell::Cell;
use std::io;
use std::time::Instant;

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

/// A token as the threads keep it.
///
/// # Errors
/// More hops than it can count.
fn token_for(hops: u64) -> io::Result<u32> {
    hops.try_into().map_err(|_| io::Error::other(format!("{hops} hops are more than a token of 32 bits can count")))
}

/// When the token set out, and where and when it came to its end.
#[derive(Default)]
struct Journey {
    began: Cell<Option<Instant>>,
    ended: Cell<Option<(usize, Instant)>>,
}

impl Journey {
    /// A thread got the last token.
    #[cold]
    #[inline(never)]
    fn end(&self, place: usize) {
        self.ended.set(Some((place, Instant::now())));
    }

    /// All threads wait, and the token sets out.
    fn begin(&self) {
        self.began.set(Some(Instant::now()));
    }

    /// Called when all threads wait: at first to have the token `set_out`, and then to end the run.
    fn idle(&self, set_out: impl FnOnce()) -> bool {
        if self.began.get().is_some() {
            return false;
        }
        self.begin();
        set_out();
        true
    }

    fn lap<W: Way>(&self, course: &Course, report: Report) -> io::Result<Lap> {
        let lost = || io::Error::other("the token was lost");
        let (began, (place, ended)) = self.began.get().zip(self.ended.get()).ok_or_else(lost)?;
        let hops_ns = ended.duration_since(began).as_nanos() as f64;
        Ok(Lap { answer: W::number(course, place), hops_ns, wasted_polls: Some(report.wasted_polls) })
    }
}
