//! Who comes next in the ring.

use crate::ring::contestants::built_in::course::Course;
use std::hint::cold_path;

/// The way around the ring.
pub trait Way: 'static {
    /// What a thread keeps to find its next.
    type Kept: Copy + 'static;

    /// What the threads keep, by their places.
    fn kept(course: &Course) -> impl ExactSizeIterator<Item = Self::Kept>;

    /// The place of the next.
    fn next(place: usize, threads: usize, kept: Self::Kept) -> usize;

    /// The number, from 1, of the thread at a place.
    fn number(course: &Course, place: usize) -> usize;
}

/// The next is the neighbour. The end of the ring is a branch, which is predicted, so no hop waits for the number of threads.
pub struct Forward;

impl Way for Forward {
    type Kept = ();

    fn kept(course: &Course) -> impl ExactSizeIterator<Item = ()> {
        std::iter::repeat_n((), course.threads)
    }

    #[inline(always)]
    fn next(place: usize, threads: usize, (): ()) -> usize {
        if place + 1 == threads {
            cold_path();
            return 0;
        }
        place + 1
    }

    fn number(_: &Course, place: usize) -> usize {
        place + 1
    }
}

/// The next is the neighbour on the other side: what the order of polling is the worst for.
pub struct Backward;

impl Way for Backward {
    type Kept = ();

    fn kept(course: &Course) -> impl ExactSizeIterator<Item = ()> {
        std::iter::repeat_n((), course.threads)
    }

    #[inline(always)]
    fn next(place: usize, threads: usize, (): ()) -> usize {
        if place == 0 {
            cold_path();
            return threads - 1;
        }
        place - 1
    }

    fn number(course: &Course, place: usize) -> usize {
        (course.threads - place) % course.threads + 1
    }
}

/// The next may be anywhere.
pub struct Anywhere;

impl Way for Anywhere {
    type Kept = u32;

    fn kept(course: &Course) -> impl ExactSizeIterator<Item = u32> {
        course.neighbours().into_iter()
    }

    #[inline(always)]
    fn next(_: usize, _: usize, kept: u32) -> usize {
        kept as usize
    }

    fn number(course: &Course, place: usize) -> usize {
        course.number_of(place)
    }
}
