//! A lock under test and the counter that it protects.

use crossbeam_utils::CachePadded;
use locks::Lock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A lock and the data that it protects, on separate cache lines.
pub struct Guarded<L> {
    pub lock: CachePadded<L>,
    pub protected: CachePadded<Protected>,
}

/// Touched only under the lock, with loads and stores that nothing but the lock orders: lost updates show a lock that
/// does not exclude.
#[derive(Default)]
pub struct Protected {
    rounds: AtomicU64,
    last_child: AtomicU64,
    streak: AtomicU64,
}

impl Protected {
    /// Begins a round and returns the count so far, which [`Protected::end`] needs.
    ///
    /// The load and the store are at the two ends of the critical section: two sections that overlap anywhere lose a
    /// count.
    pub fn begin(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Counts the round that began at this count.
    pub fn end(&self, begun: u64) {
        self.rounds.store(begun + 1, Ordering::Relaxed);
    }

    /// Returns how many rounds the child has had in a row, with this one.
    pub fn streak(&self, child: u64) -> u64 {
        let streak =
            if self.last_child.load(Ordering::Relaxed) == child { self.streak.load(Ordering::Relaxed) + 1 } else { 1 };
        self.last_child.store(child, Ordering::Relaxed);
        self.streak.store(streak, Ordering::Relaxed);
        streak
    }
}

impl<L: Lock> Guarded<L> {
    pub fn new() -> std::io::Result<Self> {
        Ok(Self { lock: CachePadded::new(L::create()?), protected: CachePadded::default() })
    }

    pub fn settle(&mut self) -> std::io::Result<()> {
        self.lock.settle()
    }

    pub fn protected_rounds(&self) -> u64 {
        self.protected.rounds.load(Ordering::Relaxed)
    }

    pub fn reset_streak(&self) {
        self.protected.streak.store(0, Ordering::Relaxed);
    }
}
