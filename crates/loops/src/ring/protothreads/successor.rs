//! Who comes next in the ring.

use crate::ring::ring_spec::RingSpec;
use std::hint::cold_path;

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
