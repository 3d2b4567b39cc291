//! How often a waiter reads the word of a lock without recent waiters.
//!
//! Each read takes the cache line of the word from the holder. If the holder acquires the lock again within about 0.1 µs,
//! it makes dozens of acquisitions per transfer of the line, as long as the waiter leaves it alone. If iterations, a section
//! and the time to the next one, are longer, the transfer costs little, but the lock is idle from its release until the waiter
//! reads the word.
//!
//! The word has no room for the length of a lock's iterations, so a process remembers in a table whether most of the recent
//! ones were short. Only the thread that runs them can measure them: the time between two changes of hands is mostly that of
//! transfers where iterations are short, and depends on the state of the machine.
//!
//! - In one of 16 periods of about 10 µs, a waiter *probes* a plain-held lock: it gives the word some credit. The holder's
//!   next releases are then read-modify-writes, and two of them read the clock. If the waiter still finds credit when two
//!   iterations should be over twice, they are long.
//! - While threads are blocked, one of 16 releases reads the clock, and notes how long 16 of them took on its CPU.
//!
//! All of it is a hint: locks that share an entry of the table, threads that overwrite each other's update, and a forked
//! child that inherits the table cost time only.

use crate::{
    atomic::{AtomicU32 as Word, Ordering::Relaxed},
    cpu::fine_now,
};
use core::sync::atomic::AtomicU32;

/// Entries of the table; locks share them by address.
const ENTRIES: usize = 64;
/// The scores of the recent iterations: each long one adds 1, each short one takes 1 away.
static TABLE: [AtomicU32; ENTRIES] = [const { AtomicU32::new(0) }; ENTRIES];
const HIGHEST: u32 = 15;
/// The score from which iterations are long.
const LONG: u32 = 8;
/// Time of two iterations from which they are long, in units of about 10 ns.
const LONG_ITERATIONS: u32 = 60;
/// Time on one CPU between two releases that read the clock, from which iterations are long, in units of about 10 ns. It was
/// 1.7 µs with empty sections on two CPUs, 5 µs with 0.1 µs inside and outside of the lock, and 20 µs with 0.5 µs.
const LONG_RELEASES: u32 = 800;
/// Periods of which one is for probes; a power of two.
const PERIODS: u32 = 16;
/// Reads of a waiter that reads often, each after about 0.1 µs. A section of 1 µs is then over; from a longer one, it
/// reads at growing distances.
const READS: u32 = 12;

/// Returns the entry of the lock at this address in a table of a power of two of them.
pub(super) fn entry_of(address: usize, entries: usize) -> usize {
    let hash = (address as u32 >> 2).wrapping_mul(0x9e37_79b9);
    (hash >> (u32::BITS - entries.ilog2())) as usize
}

/// Returns whether the iterations of the lock at this address are short.
pub(super) fn is_short(lock: usize) -> bool {
    TABLE[entry_of(lock, ENTRIES)].load(Relaxed) < LONG
}

/// The pace of one waiter.
pub(super) struct Pace {
    entry: &'static AtomicU32,
    is_short: bool,
    probe: Probe,
}

/// How a waiter learns the length of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// It will probe the lock.
    Due,
    /// It did so at this time.
    Since(u32),
    /// It does not probe the lock, or has finished.
    Over,
}

impl Pace {
    /// Returns the pace of a thread that has begun to wait at this time, in units of about 10 µs.
    pub(super) fn of(word: &Word, since: u32) -> Self {
        let lock = core::ptr::from_ref(word).addr();
        let probe = if since.is_multiple_of(PERIODS) { Probe::Due } else { Probe::Over };
        Self { entry: &TABLE[entry_of(lock, ENTRIES)], is_short: is_short(lock), probe }
    }

    /// Returns whether the iterations of the lock are short.
    pub(super) fn is_short(&self) -> bool {
        self.is_short
    }

    /// Returns whether the next read, after this many, follows soon. The first one after a probe leaves the holder alone.
    pub(super) fn is_soon(&self, reads: u32) -> bool {
        !self.is_short && reads < READS && (reads > 0 || self.probe == Probe::Over)
    }

    /// Probes the lock, or looks at an earlier probe of this waiter, after it has read this word of the held lock.
    ///
    /// A waiter that `has_yielded` cannot know whether the holder ran.
    pub(super) fn learn(&mut self, lock: &Word, word: u32, has_yielded: bool) {
        match self.probe {
            Probe::Over => {}
            Probe::Due => {
                let probed = super::word::probed(word);
                let has_probed =
                    probed.is_some_and(|probed| lock.compare_exchange(word, probed, Relaxed, Relaxed).is_ok());
                self.probe = if has_probed { Probe::Since(fine_now() as u32) } else { Probe::Over };
            }
            Probe::Since(since) => {
                if let Some(is_long) = outcome(word, has_yielded, (fine_now() as u32).wrapping_sub(since)) {
                    self.probe = Probe::Over;
                    if is_long {
                        note(self.entry, false);
                    }
                }
            }
        }
    }
}

/// Returns whether iterations are shown to be long, by a word of a held lock that was read so long after the probe of this
/// waiter; returns `None` if a later read may tell more.
fn outcome(word: u32, has_yielded: bool, since: u32) -> Option<bool> {
    if has_yielded || !super::word::is_probed(word) {
        Some(false)
    } else {
        (since > 2 * LONG_ITERATIONS).then_some(true)
    }
}

/// Notes the time of two iterations of the lock at this address.
pub(super) fn iterated(lock: usize, time: u32) {
    note(&TABLE[entry_of(lock, ENTRIES)], time < LONG_ITERATIONS);
}

/// Notes the time on one CPU between two releases of the lock at this address that read the clock.
pub(super) fn released(lock: usize, since: u32) {
    note(&TABLE[entry_of(lock, ENTRIES)], since < LONG_RELEASES);
}

fn note(entry: &AtomicU32, was_short: bool) {
    let score = entry.load(Relaxed);
    entry.store(if was_short { score.saturating_sub(1) } else { (score + 1).min(HIGHEST) }, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::super::word::{HELD, is_probed, probed};
    use super::*;

    /// A lock, and whether its iterations are short after others were noted.
    struct Lock(Word);

    impl Lock {
        fn address(&self) -> usize {
            core::ptr::from_ref(&self.0).addr()
        }

        fn is_short_after(&self, times: u32, note: impl Fn(usize)) -> bool {
            (0..times).for_each(|_| note(self.address()));
            Pace::of(&self.0, 1).is_short()
        }
    }

    #[test]
    fn most_of_the_recent_iterations_decide() {
        let lock = Lock(Word::new(0));
        for (note, limit) in [(iterated as fn(usize, u32), LONG_ITERATIONS), (released, LONG_RELEASES)] {
            let (short, long) = (|at| note(at, limit - 1), |at| note(at, limit));
            assert!(lock.is_short_after(HIGHEST + 1, short));
            assert!(lock.is_short_after(LONG - 1, long) && !lock.is_short_after(1, long));
            lock.is_short_after(HIGHEST, long);
            assert!(!lock.is_short_after(HIGHEST - LONG, short) && lock.is_short_after(1, short));
        }
    }

    #[test]
    fn waiter_probes_a_plain_held_lock_once_in_some_periods() {
        let lock = Word::new(HELD);
        let after = |since| {
            lock.store(HELD, Relaxed);
            let mut pace = Pace::of(&lock, since);
            pace.learn(&lock, HELD, false);
            lock.load(Relaxed)
        };
        assert_eq!(after(PERIODS + 1), HELD);
        let probed = after(PERIODS);
        assert!(is_probed(probed));
        let mut pace = Pace::of(&lock, PERIODS);
        pace.learn(&lock, probed, false);
        assert_eq!((lock.load(Relaxed), pace.probe), (probed, Probe::Over), "another waiter has probed it");
    }

    #[test]
    fn probe_that_stays_in_the_word_means_long_iterations() {
        let probed = probed(HELD).unwrap();
        let late = 2 * LONG_ITERATIONS + 1;
        assert_eq!(outcome(probed, false, late), Some(true));
        assert_eq!(outcome(probed, false, late - 1), None, "the next read may find it");
        assert_eq!(outcome(probed, true, late), Some(false), "the holder may not have run");
        assert_eq!(outcome(HELD, false, late), Some(false), "the releases have measured it");
    }
}
