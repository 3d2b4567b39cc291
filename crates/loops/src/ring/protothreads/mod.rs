//! contend's own stackless threads, hand-written and async, under any scheduler; and ordinary futures that wake each
//! other. They share the order around the ring ([`Successor`]), and the token with the time of its start and its end
//! ([`Journey`]).

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

/// The bytes of a thread that knows its successor, with its token and its scheduler's link.
pub const HAND_WRITTEN_BYTES: usize = hand_written::BYTES;
pub const ASYNC_BYTES: usize = 40;

/// Runs hand-written threads, which store their successors only if the ring has an arrangement.
pub fn hand_written_anywhere(spec: &RingSpec, scheduler: impl Scheduler) -> io::Result<RingResult> {
    match spec.arrangement {
        None => hand_written::<Forward>(spec, scheduler),
        Some(_) => hand_written::<Anywhere>(spec, scheduler),
    }
}

/// Runs async threads, which store their successors only if the ring has an arrangement.
pub fn asynchronous_anywhere(spec: &RingSpec, scheduler: impl Scheduler) -> io::Result<RingResult> {
    match spec.arrangement {
        None => asynchronous::<Forward>(spec, scheduler),
        Some(_) => asynchronous::<Anywhere>(spec, scheduler),
    }
}

/// Returns a bitmap with a bit for each thread.
pub fn bitmap(threads: usize) -> Bitmap<Vec<Cell<u64>>> {
    Bitmap::new(vec![Cell::new(0); threads.div_ceil(64)])
}

/// Returns a token as the threads store it.
///
/// # Errors
/// There are more hops than it can count.
pub fn token_for(hops: u64) -> io::Result<u32> {
    hops.try_into().map_err(|_| io::Error::other(format!("{hops} hops are more than a token of 32 bits can count")))
}

/// The start of the token, and the place and the time of its end.
#[derive(Default)]
pub struct Journey {
    pub began: Cell<Option<Instant>>,
    pub ended: Cell<Option<(usize, Instant)>>,
}

impl Journey {
    /// Notes the thread that got the last token.
    #[cold]
    #[inline(never)]
    pub fn end(&self, place: usize) {
        self.ended.set(Some((place, Instant::now())));
    }

    /// Starts the token, when all threads wait.
    pub fn begin(&self) {
        self.began.set(Some(Instant::now()));
    }

    /// Handles the moment when all threads wait: at first the token is started by `set_out`, and then the run ends.
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
    /// The data with which a thread finds its successor.
    type Kept: Copy + 'static;

    /// Returns the data of the threads, by their positions.
    fn kept(spec: &RingSpec) -> impl ExactSizeIterator<Item = Self::Kept>;

    /// Returns the position of the successor.
    fn next(place: usize, threads: usize, kept: Self::Kept) -> usize;

    /// Returns the number, from 1, of the thread at a position.
    fn number(spec: &RingSpec, place: usize) -> usize;
}

/// The order in which the successor is adjacent.
///
/// The end of the ring is a branch, which is predicted, so no hop waits for the number of threads.
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

/// The order in which the successor is adjacent on the other side: the worst case for the polling order.
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

/// The order in which the successor may be anywhere.
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
