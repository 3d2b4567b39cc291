//! What comes through the socket: how long memory takes to answer, and how much of it comes in a time.
//!
//! The core can be alone and code that misses its caches still slow, because somebody on another core fills the last
//! cache or the way to memory. Twenty times the length of a [`Probe`](super::Probe), so to be taken more rarely.

use super::kinds::{PLACES_A_LINE, chain};
use crate::clock::Clock;
use std::sync::Arc;

/// What the socket answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Time from asking for a line that is not in the core's own caches to having it, in nanoseconds.
    pub latency_ns: f64,
    /// What a single core reads in a row, in bytes a nanosecond (GB a second).
    pub bytes_per_ns: f64,
}

/// Walks through more memory than the core's own caches hold. A clone walks through the same, from a place of its own.
#[derive(Clone)]
pub struct SocketProbe {
    clock: Clock,
    chain: Arc<[u32]>,
    at: u32,
    read_from: usize,
}

/// Far above any core's own cache; the last cache may hold it or not, as it does for other programs.
const BYTES: usize = 64 << 20;
const HOPS: u32 = 64;
const READ_BYTES: usize = 128 << 10;
const READ_WORDS: usize = READ_BYTES / size_of::<u32>();

impl SocketProbe {
    /// Takes 64 MiB of memory and about a tenth of a second to lay a chain through it.
    pub fn new(clock: Clock) -> Self {
        Self { clock, chain: chain(BYTES).into(), at: 0, read_from: 0 }
    }

    /// For the thread of this number: what one has walked through is in the caches of all.
    pub fn of_thread(&self, thread: usize) -> Self {
        let words = self.chain.len() - READ_WORDS;
        let place = (thread * 997 * READ_WORDS) % words;
        Self { at: self.chain[place / PLACES_A_LINE * PLACES_A_LINE], read_from: place, ..self.clone() }
    }

    /// Asks once, for 15 to 40 µs.
    pub fn take(&mut self) -> Memory {
        let began = self.clock.stamp();
        for _ in 0..HOPS {
            self.at = self.chain[self.at as usize];
        }
        let answered = self.clock.stamp();
        let part = &self.chain[self.read_from..self.read_from + READ_WORDS];
        std::hint::black_box(part.iter().fold(0, |sum: u32, &word| sum.wrapping_add(word)));
        let read = self.clock.stamp();
        self.read_from = (self.read_from + READ_WORDS) % (self.chain.len() - READ_WORDS);
        Memory {
            latency_ns: self.clock.to_ns(answered - began) / f64::from(HOPS),
            bytes_per_ns: READ_BYTES as f64 / self.clock.to_ns(read - answered).max(1.0),
        }
    }
}
