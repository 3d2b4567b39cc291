//! Our own stackless threads, hand-written and async, under any scheduler; and ordinary futures that wake each other.
//! Common to them: who comes next in the ring ([`Successor`]), and a token on its way ([`Journey`]), when it set out and
//! where it ended.

mod asynchronous;
mod hand_written;
mod ordinary;

use super::{RingResult, RingSpec};
use ::protothreads::{Bitmap, Report, Scheduler};
pub use asynchronous::ring as asynchronous;
pub use hand_written::ring as hand_written;
pub use ordinary::ring as ordinary;
use std::cell::Cell;
use std::hint::cold_path;
use std::io;
use std::time::Instant;

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

/// A token as the threads keep it.
///
/// # Errors
/// More hops than it can count.
pub fn token_for(hops: u64) -> io::Result<u32> {
    hops.try_into().map_err(|_| io::Error::other(format!("{hops} hops are more than a token of 32 bits can count")))
}

/// When the token set out, and where and when it came to its end.
#[derive(Default)]
pub struct Journey {
    pub began: Cell<Option<Instant>>,
    pub ended: Cell<Option<(usize, Instant)>>,
}

impl Journey {
    /// A thread got the last token.
    #[cold]
    #[inline(never)]
    pub fn end(&self, place: usize) {
        self.ended.set(Some((place, Instant::now())));
    }

    /// All threads wait, and the token sets out.
    pub fn begin(&self) {
        self.began.set(Some(Instant::now()));
    }

    /// Called when all threads wait: at first to have the token `set_out`, and then to end the run.
    pub fn idle(&self, set_out: impl FnOnce()) -> bool {
        if self.began.get().is_some() {
            return false;
        }
        self.begin();
        set_out();
        true
    }

    pub fn result<N: Successor>(&self, spec: &RingSpec, report: Report) -> io::Result<RingResult> {
        let lost = || io::Error::other("the token was lost");
        let (began, (place, ended)) = self.began.get().zip(self.ended.get()).ok_or_else(lost)?;
        let hops_ns = ended.duration_since(began).as_nanos() as f64;
        Ok(RingResult { answer: N::number(spec, place), hops_ns, wasted_polls: Some(report.wasted_polls) })
    }
}

/// The order around the ring.
pub trait Successor: 'static {
    /// What a thread keeps to find its next.
    type Kept: Copy + 'static;

    /// What the threads keep, by their places.
    fn kept(spec: &RingSpec) -> impl ExactSizeIterator<Item = Self::Kept>;

    /// The place of the next.
    fn next(place: usize, threads: usize, kept: Self::Kept) -> usize;

    /// The number, from 1, of the thread at a place.
    fn number(spec: &RingSpec, place: usize) -> usize;
}

/// The next is the neighbour. The end of the ring is a branch, which is predicted, so no hop waits for the number of
/// threads.
pub struct Forward;

impl Successor for Forward {
    type Kept = ();

    fn kept(spec: &RingSpec) -> impl ExactSizeIterator<Item = ()> {
        std::iter::repeat_n((), spec.threads)
    }

    #[inline(always)]
    fn next(place: usize, threads: usize, (): ()) -> usize {
        if place + 1 == threads {
            cold_path();
            return 0;
        }
        place + 1
    }

    fn number(_: &RingSpec, place: usize) -> usize {
        place + 1
    }
}

/// The next is the neighbour on the other side: what the order of polling is the worst for.
pub struct Backward;

impl Successor for Backward {
    type Kept = ();

    fn kept(spec: &RingSpec) -> impl ExactSizeIterator<Item = ()> {
        std::iter::repeat_n((), spec.threads)
    }

    #[inline(always)]
    fn next(place: usize, threads: usize, (): ()) -> usize {
        if place == 0 {
            cold_path();
            return threads - 1;
        }
        place - 1
    }

    fn number(spec: &RingSpec, place: usize) -> usize {
        (spec.threads - place) % spec.threads + 1
    }
}

/// The next may be anywhere.
pub struct Anywhere;

impl Successor for Anywhere {
    type Kept = u32;

    fn kept(spec: &RingSpec) -> impl ExactSizeIterator<Item = u32> {
        spec.neighbours().into_iter()
    }

    #[inline(always)]
    fn next(_: usize, _: usize, kept: u32) -> usize {
        kept as usize
    }

    fn number(spec: &RingSpec, place: usize) -> usize {
        spec.number_of(place)
    }
}
