//! When and how long a waiter spins.

use super::word::{Awake, HELD, Past, RESERVED, is_left_to_woken, may_have_blocked};
use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed},
        pause,
    },
    cpu::{coarse_now, cpu_hint},
    futex::Deadline,
};

/// A waiting thread that is not blocked.
pub(super) struct Spinner<'a> {
    word: &'a AtomicU32,
    awake: Awake,
    past: Past,
}

impl<'a> Spinner<'a> {
    pub(super) fn arriving(word: &'a AtomicU32, awake: Awake) -> Self {
        Spinner { word, awake, past: Past::NONE }
    }

    pub(super) fn will_sleep(&mut self) {
        self.past.slept = true;
    }

    pub(super) fn was_woken(&mut self) {
        self.past.woken = true;
    }

    /// Returns whether this thread blocks rather than take a lock that is left to another one.
    pub(super) fn leaves(&self, word: u32) -> bool {
        cfg!(not(loom)) && !self.past.woken && is_left_to_woken(word)
    }

    /// Returns the held word after this thread has announced that it blocks.
    pub(super) fn marked(&self, word: u32) -> u32 {
        self.past.marked(word, self.awake, coarse_now)
    }

    /// Returns the held word after this thread has given up.
    pub(super) fn left(&self, word: u32) -> u32 {
        self.past.leaving().marked(word, self.awake, coarse_now)
    }

    /// Acquires the lock if it is unlocked and not reserved for another thread; with `void`, no reservation counts.
    pub(super) fn take(&self, word: u32, void: bool) -> bool {
        self.past.may_take(word, void) && {
            let taken = self.past.taken(word, self.awake, cpu_hint(), coarse_now);
            self.word.compare_exchange(word, taken, Acquire, Relaxed).is_ok()
        }
    }

    /// Sets `AWAKE` if threads may be blocked and none is awake, so that no release wakes one.
    fn set_awake(&mut self, word: u32) {
        if may_have_blocked(word) && !self.awake.is_any_in(word) {
            self.past.spins = self.word.compare_exchange(word, self.awake.put_in(word), Relaxed, Relaxed).is_ok();
        }
    }

    /// Reserves the next release for this thread; returns whether that succeeded.
    ///
    /// A plain release may erase the reservation. No thread blocks on a reservation, so that costs one more attempt.
    fn reserve(&mut self, word: u32) -> bool {
        self.past.reserved = word & (HELD | RESERVED) == HELD
            && self.word.compare_exchange(word, word | RESERVED, Relaxed, Relaxed).is_ok();
        self.past.reserved
    }

    /// Begins another spin.
    fn begin(&mut self) {
        self.past = Past { spins: false, reserved: false, ..self.past };
    }
}

#[cfg(not(loom))]
mod patience {
    use super::super::word::{has_moved, is_held_on};
    use super::*;
    use crate::atomic::give_way;

    /// Time limit of a spin without success, in units of about 10 µs: about the cost of a wake-up. It is also the time for
    /// which an unlocked lock is left to the thread that it is reserved for.
    const PATIENCE: u32 = 3;
    /// Time limit of a spin with a reservation, which succeeds with the next release.
    const PATIENCE_RESERVED: u32 = 20;
    /// Reads of the word after which a thread leaves the spinning to the one that spins already.
    const READS: u32 = 12;
    /// Yields to a holder that was last seen on this CPU, before the thread blocks.
    const YIELDS: u32 = 8;
    /// Pauses between two reads of the word, at first (about 0.1 µs) and at most. Each read takes the cache line from the
    /// holder.
    const PAUSES: u32 = 4;
    const MOST_PAUSES: u32 = 128;
    /// The same for a lock without waiters, which one thread may be acquiring again and again.
    const MOST_QUIET_PAUSES: u32 = 512;

    impl Spinner<'_> {
        /// Spins while that can pay off; returns whether it acquired the lock.
        ///
        /// A thread with a deadline does not yield: that may cost it a time slice of another program.
        pub(in super::super) fn spin(&mut self, deadline: Option<Deadline>) -> bool {
            self.begin();
            let start = coarse_now();
            let woken = self.past.woken;
            let mut until = if woken { PATIENCE_RESERVED } else { PATIENCE + 1 };
            let (mut moved, mut reads, mut yields, mut pauses) = (woken, 0, 0, PAUSES);
            let mut free_since = None;
            let mut seen = self.word.load(Relaxed);
            loop {
                let word = self.word.load(Relaxed);
                let age = coarse_now().wrapping_sub(start);
                self.past.reserved &= word & RESERVED != 0;
                moved |= has_moved(seen, word);
                seen = word;
                if word & HELD == 0 {
                    let since = *free_since.get_or_insert(age);
                    if self.take(word, age.wrapping_sub(since) > PATIENCE) {
                        return true;
                    }
                } else {
                    free_since = None;
                }
                if deadline.is_some_and(|deadline| deadline.passed()) || self.leaves(word) {
                    return false;
                }
                if word & HELD == 0 {
                    // The lock is reserved for a thread that does not run, or it would have acquired the lock. It may be
                    // waiting for this CPU.
                    if word & RESERVED != 0 && deadline.is_none() {
                        give_way();
                    }
                    continue;
                }
                self.set_awake(word);
                if may_have_blocked(word) && !self.past.spins && !woken && reads > READS {
                    return false;
                }
                let quiet = !may_have_blocked(word);
                if !self.past.reserved && age >= PATIENCE && (moved || quiet) && self.reserve(word) {
                    until = age + if moved { PATIENCE_RESERVED } else { PATIENCE };
                } else if is_held_on(word, cpu_hint()) {
                    if yields == YIELDS || deadline.is_some() {
                        return false;
                    }
                    yields += 1;
                    give_way();
                } else if age >= until {
                    return false;
                }
                reads += 1;
                pauses = if self.past.reserved { PAUSES } else { next_pauses(quiet, reads, pauses) };
                (0..pauses).for_each(|_| pause());
            }
        }
    }

    fn next_pauses(quiet: bool, reads: u32, pauses: u32) -> u32 {
        if quiet {
            (pauses * 2).min(MOST_QUIET_PAUSES)
        } else if reads <= READS {
            PAUSES
        } else {
            (pauses + pauses / 8 + 1).min(MOST_PAUSES)
        }
    }
}

/// Makes one attempt, and a second one with a reservation for a thread that was blocked: in a model, the length of a
/// spin proves nothing.
#[cfg(loom)]
impl Spinner<'_> {
    pub(super) fn spin(&mut self, _: Option<Deadline>) -> bool {
        self.begin();
        let word = self.word.load(Relaxed);
        if self.take(word, false) {
            return true;
        }
        if word & HELD == 0 {
            return false;
        }
        self.set_awake(word);
        pause();
        let word = self.word.load(Relaxed);
        if self.past.woken {
            self.reserve(word);
            pause();
        }
        let word = self.word.load(Relaxed);
        self.past.reserved &= word & RESERVED != 0;
        self.take(word, false)
    }
}
