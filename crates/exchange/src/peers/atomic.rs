//! Atomics, spinning and sleeping for the peers: this file replaces their own `atomic.rs`.

use crate::futex::{ALL, Private, give_way, wait, wake};
pub use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The number of iterations of a spinning wait, after which each further one also yields the CPU: as with `mcs`.
const ROUNDS: u32 = 1_000;

/// Spins until the condition holds; a thread that has waited for long naps.
#[inline]
pub fn spin_until(mut done: impl FnMut() -> bool) {
    let mut round = 0_u32;
    while !done() {
        if round < ROUNDS {
            core::hint::spin_loop()
        } else {
            give_way(round)
        }
        round = round.saturating_add(1);
    }
}

/// Spins until the condition holds, for at most this number of iterations. Returns whether it holds.
#[inline]
pub fn spin_for(rounds: u32, mut done: impl FnMut() -> bool) -> bool {
    for _ in 0..rounds {
        if done() {
            return true;
        }
        core::hint::spin_loop();
    }
    done()
}

/// Sleeps unless the word has another value. A sleeper may wake without a reason.
pub fn sleep_while(word: &AtomicU32, value: u32) {
    wait::<Private>(word, value, ALL, None);
}

/// Wakes one thread that sleeps on this word, which is in a node: nodes are never freed.
pub fn wake_one(word: *const AtomicU32) {
    // SAFETY: the word is in a node.
    wake::<Private>(unsafe { &*word }, 1, ALL);
}

/// The number of slots of each of the following arrays, as in the papers.
const SLOTS: usize = 4096;

/// Returns the waiting array of all `twa` locks.
pub fn twa_slots() -> &'static [AtomicU64] {
    static ARRAY: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
    &ARRAY
}

/// Returns the waiting array of all `hapax` locks.
pub fn hapax_slots() -> &'static [AtomicU64] {
    static ARRAY: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
    &ARRAY
}
