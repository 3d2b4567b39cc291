//! A bit for each thread that can run.
use core::cell::Cell;

use crate::{node::Node, scheduler::Scheduler};

/// A bit for each thread; set when it can run. The search goes round: it begins after the thread that was polled last.
///
/// No thread starves: between two polls of one, every other is polled at most once. A search looks at all words in the
/// worst case, one for each 64 threads.
#[derive(Debug)]
pub struct Bitmap<B> {
    bits: B,
    last: Cell<u32>,
    ready: Cell<u32>,
}

impl<B: AsRef<[Cell<u64>]>> Bitmap<B> {
    /// A scheduler for as many threads as there are bits in these words, which must be 0: an array, a slice, a `Vec`.
    pub fn new(bits: B) -> Self {
        Self { bits, last: Cell::new(0), ready: Cell::new(0) }
    }
}

impl<B: AsRef<[Cell<u64>]>> Scheduler for Bitmap<B> {
    /// # Panics
    /// If there are more threads than bits.
    #[inline(always)]
    fn ready<N: Node>(&self, _: &[N], thread: u32) {
        let word = &self.bits.as_ref()[thread as usize / 64];
        word.set(word.get() | 1 << (thread % 64));
        self.ready.set(self.ready.get() + 1);
    }

    #[inline(always)]
    fn next<N: Node>(&self, _: &[N]) -> Option<u32> {
        let left = self.ready.get();
        if left == 0 {
            return None;
        }
        self.ready.set(left - 1);
        let words = self.bits.as_ref();
        // The threads after the last one within its word, then the words after it; at the end the whole of its word.
        let mut at = self.last.get() as usize / 64;
        let mut seen = words[at].get() & (!1 << (self.last.get() % 64));
        while seen == 0 {
            at = if at + 1 == words.len() { 0 } else { at + 1 };
            seen = words[at].get();
        }
        let bit = seen.trailing_zeros();
        words[at].set(words[at].get() & !(1 << bit));
        let thread = at as u32 * 64 + bit;
        self.last.set(thread);
        Some(thread)
    }
}
