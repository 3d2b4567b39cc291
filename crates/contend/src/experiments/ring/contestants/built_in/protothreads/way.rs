//! Who comes next in the ring.

use super::super::Course;
use std::hint::cold_path;

/// The way around the ring. A thread keeps one number to find its next.
pub trait Way: 'static {
    /// The numbers that the threads keep, by their places.
    fn kept(course: &Course) -> impl ExactSizeIterator<Item = u32>;

    /// The place of the next.
    fn next(place: usize, kept: u32) -> usize;

    /// The number, from 1, of the thread at a place.
    fn number(course: &Course, place: usize) -> usize;
}

/// The next is the neighbour. The end of the ring is a branch, which is predicted, so no hop waits for the number of threads.
pub struct Forward;

impl Way for Forward {
    fn kept(course: &Course) -> impl ExactSizeIterator<Item = u32> {
        std::iter::repeat_n(course.threads as u32, course.threads)
    }

    #[inline(always)]
    fn next(place: usize, kept: u32) -> usize {
        if place + 1 == kept as usize {
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
    fn kept(course: &Course) -> impl ExactSizeIterator<Item = u32> {
        std::iter::repeat_n(course.threads as u32, course.threads)
    }

    #[inline(always)]
    fn next(place: usize, kept: u32) -> usize {
        if place == 0 {
            cold_path();
            return kept as usize - 1;
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
    fn kept(course: &Course) -> impl ExactSizeIterator<Item = u32> {
        course.neighbours().into_iter()
    }

    #[inline(always)]
    fn next(_: usize, kept: u32) -> usize {
        kept as usize
    }

    fn number(course: &Course, place: usize) -> usize {
        course.number_of(place)
    }
}
