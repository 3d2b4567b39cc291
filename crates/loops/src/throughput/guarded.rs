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
    /// Counts a round and says how many the child has had in a row.
    pub fn enter(&self, child: u64) -> u64 {
        let rounds = self.rounds.load(Ordering::Relaxed);
        let streak =
            if self.last_child.load(Ordering::Relaxed) == child { self.streak.load(Ordering::Relaxed) + 1 } else { 1 };
        self.last_child.store(child, Ordering::Relaxed);
        self.streak.store(streak, Ordering::Relaxed);
        self.rounds.store(rounds + 1, Ordering::Relaxed);
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
