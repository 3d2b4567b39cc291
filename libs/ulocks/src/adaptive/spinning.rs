//! When and how long a waiter spins.

use super::word::{Awake, HELD, RESERVED, is_quiet, marked, taken_after_sleep, taken_spinning};
use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed},
        pause,
    },
    cpu::{coarse_now, cpu_hint},
};

/// A thread that waits, and is awake.
pub(super) struct Spinner<'a> {
    word: &'a AtomicU32,
    awake: Awake,
    /// When it began to wait.
    since: u32,
    /// It has slept, or said that it would: others may rely on it.
    has_slept: bool,
    /// If the word says that somebody is awake, this is the one.
    ours: bool,
    /// If the lock is reserved, it is for this one.
    reserved: bool,
}

impl<'a> Spinner<'a> {
    pub(super) fn arriving(word: &'a AtomicU32, awake: Awake) -> Self {
        Spinner { word, awake, since: coarse_now(), has_slept: false, ours: false, reserved: false }
    }

    pub(super) fn will_sleep(&mut self) {
        self.has_slept = true;
    }

    /// The held word once this one sleeps.
    pub(super) fn marked(&self, word: u32) -> u32 {
        let word = if self.reserved { word & !RESERVED } else { word };
        marked(word, self.ours, self.awake)
    }

    /// Takes the lock if it is free, and not reserved for another; `void` says that no reservation counts.
    pub(super) fn take(&self, word: u32, void: bool) -> bool {
        if word & HELD != 0 || (word & RESERVED != 0 && !self.has_slept && !self.reserved && !void) {
            return false;
        }
        let taken = if self.has_slept {
            let now = coarse_now();
            taken_after_sleep(word, self.ours, cpu_hint(), now, now.wrapping_sub(self.since))
        } else {
            taken_spinning(word, self.ours, cpu_hint())
        };
        self.word.compare_exchange(word, taken, Acquire, Relaxed).is_ok()
    }

    /// Says that it is awake, if nobody does. A quiet lock is not told: no sleeper would be woken for it, and its
    /// holder would have to free it by a read-modify-write each time.
    fn say_awake(&mut self, word: u32) {
        if !self.awake.is_in(word) && !is_quiet(word) {
            self.ours = self.word.compare_exchange(word, self.awake.put_in(word), Relaxed, Relaxed).is_ok();
        }
    }

    /// Asks that the next free be for this one; says whether it has. A plain holder may store over it: nobody sleeps on
    /// a reservation, so that costs another try.
    fn reserve(&mut self, word: u32) -> bool {
        self.reserved = word & (HELD | RESERVED) == HELD
            && self.word.compare_exchange(word, word | RESERVED, Relaxed, Relaxed).is_ok();
        self.reserved
    }
}

#[cfg(not(loom))]
mod patience {
    use super::super::word::{CPU, CREDIT, held_on, is_crowded};
    use super::*;
    use crate::atomic::give_way;

    /// How long a spin without success lasts, and how long one with a reservation does: in units of about 10 µs.
    const PATIENCE: u32 = 3;
    const PATIENCE_RESERVED: u32 = 20;
    /// Rounds of a spin, of some 100 ns each, after which one leaves the spinning to another that does it already.
    const ROUNDS: u32 = 12;
    /// How often to yield to a holder that was last seen on this CPU, before sleeping; and how often after having
    /// slept, since sleeping again means the end of the line.
    const YIELDS: u32 = 8;
    const YIELDS_WOKEN: u32 = 100;
    /// Pauses between two looks: at a quiet lock, which one thread may be taking again and again, at first some 0.5 µs,
    /// twice as many after each look, up to some 10 µs. Each look takes the word's cache line away from that thread.
    const PAUSES: u32 = 4;
    const QUIET_PAUSES: u32 = 32;
    const MOST_PAUSES: u32 = 512;

    impl Spinner<'_> {
        /// Spins while it can pay; says whether it took the lock.
        pub(in super::super) fn spin(&mut self) -> bool {
            let start = coarse_now();
            let woken = self.has_slept;
            self.ours = false;
            self.reserved = false;
            let (patience, mut until, most_yields) =
                if woken { (0, PATIENCE_RESERVED, YIELDS_WOKEN) } else { (PATIENCE, PATIENCE + 1, YIELDS) };
            let (mut changed, mut yields, mut rounds, mut pauses) = (woken, 0, 0, PAUSES);
            let mut free_since = None;
            let mut seen = self.word.load(Relaxed);
            loop {
                let word = self.word.load(Relaxed);
                let age = coarse_now().wrapping_sub(start);
                let void = free_since.is_some_and(|since: u32| age.wrapping_sub(since) > PATIENCE);
                self.reserved &= word & RESERVED != 0;
                if word & HELD == 0 && self.take(word, void) {
                    return true;
                }
                changed |= (word ^ seen) & (HELD | CREDIT | CPU) != 0;
                seen = word;
                if word & HELD == 0 {
                    free_since = free_since.or(Some(age));
                    // Reserved for a thread that is not running, or it would have taken it: perhaps this CPU is its.
                    give_way();
                    pass_time(PAUSES);
                    continue;
                }
                free_since = None;
                let quiet = is_quiet(word) && !self.reserved;
                pauses = if quiet && age < patience { (pauses * 2).clamp(QUIET_PAUSES, MOST_PAUSES) } else { PAUSES };
                if !self.awake.is_in(word) {
                    self.say_awake(word);
                } else if !self.ours && !woken && (is_crowded(word) || rounds > ROUNDS) {
                    return false;
                }
                if !self.reserved && (changed || quiet) && age >= patience && self.reserve(word) {
                    until = age + if changed { PATIENCE_RESERVED } else { PATIENCE };
                } else if held_on(word, cpu_hint()) {
                    if yields == most_yields {
                        return false;
                    }
                    yields += 1;
                    give_way();
                } else if age >= until {
                    return false;
                }
                rounds += 1;
                pass_time(pauses);
            }
        }
    }

    fn pass_time(pauses: u32) {
        (0..pauses).for_each(|_| pause());
    }
}

/// In a model the length of a spin proves nothing: one try, and for one that has slept another with a reservation.
#[cfg(loom)]
impl Spinner<'_> {
    pub(super) fn spin(&mut self) -> bool {
        self.ours = false;
        self.reserved = false;
        let word = self.word.load(Relaxed);
        if self.take(word, false) {
            return true;
        }
        if word & HELD == 0 {
            return false;
        }
        self.say_awake(word);
        pause();
        let word = self.word.load(Relaxed);
        if self.has_slept {
            self.reserve(word);
            pause();
        }
        let word = self.word.load(Relaxed);
        self.reserved &= word & RESERVED != 0;
        self.take(word, false)
    }
}
