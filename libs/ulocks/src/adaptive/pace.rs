//! How often a waiter reads the word of a lock.
//!
//! Each read takes the cache line of the word from the holder. If the holder acquires the lock again within about 0.1 µs,
//! it makes dozens of acquisitions per transfer of the line, as long as the waiter leaves it alone. If critical sections
//! are longer, the transfer costs little, but the lock is idle from its release until the waiter reads the word.
//!
//! The word has no room for the length of a lock's sections, so a process remembers it in a table. While no thread is
//! blocked, every waiter reads often in one of 16 periods of about 10 µs. Then the lock changes hands after each section or
//! few, and the time between two such changes is that of a section. Outside these periods, waiters do what was better for
//! most of the recent changes.
//!
//! While threads are blocked, arriving threads yield between their reads, and the time between two changes of hands says
//! nothing about sections. There, one of 16 releases reads the clock, and notes how long 16 of them took on its CPU.
//!
//! All of it is a hint: locks that share an entry of the table, threads that overwrite each other's update, and a forked
//! child that inherits the table cost time only.

use crate::{atomic::AtomicU32 as Word, cpu::fine_now};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Entries of the table; locks share them by address.
const ENTRIES: usize = 64;
/// The lowest bits of an entry are its score; the others are the time of the last change of hands, in about 10 ns.
static TABLE: [AtomicU32; ENTRIES] = [const { AtomicU32::new(0) }; ENTRIES];
const SCORE: u32 = 15;
const SCORE_BITS: u32 = 4;
/// The score from which waiters read often.
const OFTEN: u32 = 8;
/// Reads of a waiter that reads often, after which it reads at growing distances: the section is long.
const READS: u32 = 8;
/// Time between two changes of hands from which reading often is better, in units of about 10 ns.
const LONG: u32 = 30;
/// Time on one CPU between two releases that read the clock, from which reading often is better, in units of about 10 ns. It
/// was 1.7 µs with empty sections on two CPUs, 5 µs with 0.1 µs inside and outside of the lock, and 20 µs with 0.5 µs.
const LONG_RELEASES: u32 = 800;
/// Periods of which one is for learning; a power of two.
const PERIODS: u32 = 16;

/// Returns the entry of the lock at this address in a table of a power of two of them.
pub(super) fn entry_of(address: usize, entries: usize) -> usize {
    let hash = (address as u32 >> 2).wrapping_mul(0x9e37_79b9);
    (hash >> (u32::BITS - entries.ilog2())) as usize
}

/// The pace of one waiter.
pub(super) struct Pace {
    entry: &'static AtomicU32,
    learns: bool,
    is_often: bool,
}

impl Pace {
    /// Returns the pace of a thread that has begun to wait at this time, in units of about 10 µs.
    pub(super) fn of(word: &Word, since: u32) -> Self {
        let entry = &TABLE[entry_of(core::ptr::from_ref(word).addr(), ENTRIES)];
        let learns = since.is_multiple_of(PERIODS);
        Self { entry, learns, is_often: learns || entry.load(Relaxed) & SCORE >= OFTEN }
    }

    /// Returns whether waiters read often.
    pub(super) fn is_often(&self) -> bool {
        self.is_often
    }

    /// Returns whether the next read, after this many, follows soon.
    pub(super) fn is_soon(&self, reads: u32) -> bool {
        self.is_often && reads < READS
    }

    /// Notes that the thread has acquired the lock.
    pub(super) fn acquired(&self) {
        if self.learns {
            self.entry.store(after(self.entry.load(Relaxed), fine_now() as u32), Relaxed);
        }
    }
}

/// Notes the time on one CPU between two releases of the lock at this address that read the clock.
pub(super) fn released(lock: usize, since: u32) {
    let entry = &TABLE[entry_of(lock, ENTRIES)];
    let before = entry.load(Relaxed);
    entry.store(before & !SCORE | score_after(before, since < LONG_RELEASES), Relaxed);
}

/// Returns an entry after a change of hands at this time.
fn after(entry: u32, now: u32) -> u32 {
    let now = now << SCORE_BITS;
    let since = now.wrapping_sub(entry & !SCORE) >> SCORE_BITS;
    now | score_after(entry, since < LONG)
}

fn score_after(entry: u32, was_short: bool) -> u32 {
    let score = entry & SCORE;
    if was_short { score.saturating_sub(1) } else { (score + 1).min(SCORE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes of hands at this distance, and whether waiters read often after them.
    fn is_often_after(mut entry: u32, distance: u32, changes: u32) -> bool {
        let begin = entry >> SCORE_BITS;
        (1..=changes).for_each(|change| entry = after(entry, begin.wrapping_add(change * distance)));
        entry & SCORE >= OFTEN
    }

    #[test]
    fn long_sections_are_read_often_and_short_ones_seldom_again() {
        let late = u32::MAX << SCORE_BITS;
        for begin in [0, late] {
            assert!(
                is_often_after(begin, LONG, 8)
                    && !is_often_after(begin, LONG, 7)
                    && !is_often_after(begin, LONG - 1, 50)
            );
            assert!(!is_often_after(begin | SCORE, LONG - 1, 8) && is_often_after(begin | SCORE, LONG - 1, 7));
        }
    }

    #[test]
    fn releases_in_quick_succession_make_waiters_read_seldom() {
        let word = Word::new(0);
        let lock = core::ptr::from_ref(&word).addr();
        let is_often_after = |since, times| {
            (0..times).for_each(|_| released(lock, since));
            Pace::of(&word, 1).is_often()
        };
        assert!(is_often_after(LONG_RELEASES, SCORE + 1));
        assert!(!is_often_after(LONG_RELEASES - 1, OFTEN));
        assert!(is_often_after(LONG_RELEASES, 1));
    }
}
