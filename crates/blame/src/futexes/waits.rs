//! The waits for a word at a stack: their sums, and the scatter of the sums over slices of the record.

use crate::durations::Times;
use crate::switches::Seen;
use std::collections::HashMap;

/// A stack by its number.
pub type StackNumber = usize;

/// Threads that ran instead of a waiter, at each place.
const MOST_RUNNERS: usize = 256;

/// All waits for a word at a stack.
#[derive(Default)]
pub struct Waits {
    pub times: Times,
    /// Times from the wake until the thread runs.
    pub wakes: Times,
    pub timeouts: u64,
    /// The states of the wakers while it waited.
    pub seen: Seen,
    /// Time waited, by the stack that woke it.
    pub wakers: HashMap<StackNumber, f64>,
    /// Time of the waits in which each holder had the lock, by the stack that released it.
    pub holders: HashMap<StackNumber, f64>,
    /// Time of the waits in which a holder waited in a futex call for another word itself, by the stack of that call, and by
    /// whether it had woken a thread since it had the lock.
    pub holder_waits: HashMap<(StackNumber, bool), f64>,
    /// Time that each thread ran while the woken one did not yet.
    pub ran_instead: HashMap<u32, f64>,
    /// Words that were folded into these sums.
    pub instances: u32,
    /// Time waited in the present slice of the record.
    slice_ns: u64,
    /// Time waited in the slices before, and the sums of its squares and of its products with their lengths.
    sliced_ns: f64,
    squares: f64,
    products: f64,
}

/// One wait.
#[derive(Clone, Debug)]
pub struct Wait {
    pub began: u64,
    pub ended: u64,
    pub thread: u32,
    pub stack: StackNumber,
    pub waker: Option<(u32, Option<StackNumber>)>,
    pub seen: Seen,
    pub wake_ns: Option<u64>,
}

/// The threads that had a lock during a wait, by the stack that released it, and their own waits for other words in that
/// time, as in [`Waits::holder_waits`]. Times are in ns.
#[derive(Default)]
pub(super) struct Held {
    /// The threads, the last first, each with the time in which it had it; none for the time after the last release.
    pub turns: Vec<(Option<u32>, u64, u64)>,
    pub holders: Vec<(StackNumber, f64)>,
    pub waits: Vec<((StackNumber, bool), f64)>,
}

/// Longest waits of each word that are kept.
pub const LONGEST: usize = 5;

impl Waits {
    /// Adds the wait, the holders during it, and the threads that ran between its wake and its end.
    pub(super) fn add(&mut self, wait: &Wait, held: Held, instead: Vec<(u32, f64)>) {
        let waited = wait.ended - wait.began;
        self.times.note(waited);
        wait.wake_ns.into_iter().for_each(|ns| self.wakes.note(ns));
        self.seen.add(wait.seen);
        if let Some((_, Some(stack))) = wait.waker {
            *self.wakers.entry(stack).or_default() += waited as f64;
        }
        held.holders.into_iter().for_each(|(stack, ns)| *self.holders.entry(stack).or_default() += ns);
        held.waits.into_iter().for_each(|(at, ns)| *self.holder_waits.entry(at).or_default() += ns);
        self.note_runners(instead.into_iter());
    }

    fn note_runners(&mut self, instead: impl Iterator<Item = (u32, f64)>) {
        for (thread, ns) in instead {
            if self.ran_instead.len() < MOST_RUNNERS || self.ran_instead.contains_key(&thread) {
                *self.ran_instead.entry(thread).or_default() += ns;
            }
        }
    }

    /// Returns whether no wait has ended, by a wake, a timeout or the end of a window.
    pub fn is_empty(&self) -> bool {
        self.times.ticks == 0 && self.timeouts == 0
    }

    /// Adds waiting time to the present slice: also of waits that go on, since a slice can be shorter than a wait.
    pub(super) fn note_in_slice(&mut self, waited_ns: u64) {
        self.slice_ns += waited_ns;
    }

    /// Ends the present slice, which has this length.
    pub(super) fn end_slice(&mut self, length_ns: f64) {
        let waited = std::mem::take(&mut self.slice_ns) as f64;
        self.sliced_ns += waited;
        self.squares += waited * waited;
        self.products += waited * length_ns;
    }

    /// Adds the waits of another stack.
    pub fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.wakes.merge(&other.wakes);
        self.timeouts += other.timeouts;
        self.seen.add(other.seen);
        other.wakers.iter().for_each(|(stack, ns)| *self.wakers.entry(*stack).or_default() += ns);
        other.holders.iter().for_each(|(stack, ns)| *self.holders.entry(*stack).or_default() += ns);
        other.holder_waits.iter().for_each(|(at, ns)| *self.holder_waits.entry(*at).or_default() += ns);
        self.note_runners(other.ran_instead.iter().map(|(thread, ns)| (*thread, *ns)));
        self.instances += other.instances;
        self.slice_ns += other.slice_ns;
        self.sliced_ns += other.sliced_ns;
        self.products += other.products;
        // As if both were the longest in the same slices: not less than the squares of the sums.
        self.squares = (self.squares.sqrt() + other.squares.sqrt()).powi(2);
    }

    /// Returns the standard deviation, in ns, of the time waited in a slice from that by the slice's length; at most as large
    /// as this where several places were added up. `None` for fewer than two slices.
    pub fn deviation_ns(&self, slices: &Slices) -> Option<f64> {
        let per_ns = self.sliced_ns / slices.length_ns;
        let squares = self.squares - 2.0 * per_ns * self.products + per_ns * per_ns * slices.squares;
        (slices.count > 1).then(|| (squares.max(0.0) / (slices.count - 1) as f64).sqrt())
    }
}

/// Pieces of the record, of about the same length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slices {
    pub count: u64,
    length_ns: f64,
    /// Sum of the squares of their lengths.
    squares: f64,
}

impl Slices {
    pub(super) fn add(&mut self, length_ns: f64) {
        self.count += 1;
        self.length_ns += length_ns;
        self.squares += length_ns * length_ns;
    }
}
