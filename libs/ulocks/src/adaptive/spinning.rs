//! When and how long a waiter spins.

use super::{
    rotation,
    word::{self, Awake, HELD, RESERVED, is_quiet, marked},
};
use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed},
        pause,
    },
    cpu::{coarse_now, cpu_hint},
};

/// A waiting thread that is not blocked.
pub(super) struct Spinner<'a> {
    word: &'a AtomicU32,
    awake: Awake,
    /// Time at which it began to wait.
    since: u32,
    /// Whether it has blocked or announced that it would, so that other threads may rely on it.
    has_slept: bool,
    /// Whether it may yield to threads that may not use the lock, and spin longer where threads are blocked: not with a
    /// deadline, nor on a lock between processes, whose uses by others are not noted.
    #[cfg_attr(loom, expect(dead_code, reason = "the model has no turns"))]
    takes_turns: bool,
    /// Whether another thread ran while this one yielded.
    has_yielded: bool,
    /// Whether it may yield, and the iterations of the lock are short: then arriving threads go on to yield if this one
    /// acquires the lock without having blocked.
    keeps_prompt: bool,
    /// Whether this thread is the one that the field `AWAKE` identifies.
    is_spinner: bool,
    /// Whether a reservation of the lock is for this thread.
    reserved: bool,
}

impl<'a> Spinner<'a> {
    pub(super) fn arriving(word: &'a AtomicU32, awake: Awake, takes_turns: bool) -> Self {
        Spinner {
            word,
            awake,
            since: coarse_now(),
            has_slept: false,
            takes_turns,
            has_yielded: false,
            keeps_prompt: false,
            is_spinner: false,
            reserved: false,
        }
    }

    pub(super) fn will_sleep(&mut self) {
        self.has_slept = true;
    }

    /// Returns the held word after this thread has announced that it blocks.
    pub(super) fn marked(&self, word: u32) -> u32 {
        let word = if self.reserved { word & !RESERVED } else { word };
        marked(word, self.is_spinner, self.awake)
    }

    /// Acquires the lock if it is unlocked and not reserved for another thread; with `void`, no reservation counts.
    pub(super) fn take(&self, word: u32, void: bool) -> bool {
        if word & HELD != 0 || (word & RESERVED != 0 && !self.has_slept && !self.reserved && !void) {
            return false;
        }
        let has_taken = self.word.compare_exchange(word, self.taken(word), Acquire, Relaxed).is_ok();
        if has_taken && self.has_yielded && !word::may_have_blocked(word) && !self.stays_quiet(word) {
            rotation::crowds(core::ptr::from_ref(self.word).addr());
        }
        has_taken
    }

    /// Returns whether a lock without blocked threads stays one when this thread acquires it after a yield: where sections
    /// are short, arriving threads yield for a while without the flag of blocked threads.
    fn stays_quiet(&self, word: u32) -> bool {
        self.keeps_prompt && !self.has_slept && is_quiet(word)
    }

    /// Returns the word as acquired by this thread.
    ///
    /// The flag of a promptly acquired lock would otherwise change twice for each change of hands. A thread that arrives
    /// in between would not yield, but spin, and take the cache line from short sections.
    fn taken(&self, word: u32) -> u32 {
        let taken = self.taken_with_flags(word);
        let is_prompt = self.keeps_prompt && !self.has_slept && !self.is_spinner && word::is_prompt(word);
        if is_prompt { word::promptly(taken) } else { taken }
    }

    fn taken_with_flags(&self, word: u32) -> u32 {
        let times = || {
            let now = coarse_now();
            (now, now.wrapping_sub(self.since))
        };
        let cpu = cpu_hint();
        if self.has_slept {
            let (now, waited) = times();
            return word::taken_after_sleep(word, self.is_spinner, cpu, now, waited);
        }
        if self.has_yielded && !self.stays_quiet(word) {
            let (now, waited) = times();
            return word::taken_after_yields(word, self.awake, self.is_spinner, cpu, now, waited);
        }
        word::taken_spinning(word, self.is_spinner, cpu)
    }

    /// Sets `AWAKE` if no thread has set it.
    ///
    /// A lock without recent waiters is left as it is: no blocked thread would be woken for it, and its holder would
    /// need a read-modify-write for each release.
    fn set_awake(&mut self, word: u32) {
        if !self.awake.is_in(word) && !is_quiet(word) {
            self.is_spinner = self.word.compare_exchange(word, self.awake.put_in(word), Relaxed, Relaxed).is_ok();
        }
    }

    /// Reserves the next release for this thread; returns whether that succeeded.
    ///
    /// A plain release may erase the reservation. No thread blocks on a reservation, so that costs one more attempt.
    fn reserve(&mut self, word: u32) -> bool {
        self.reserved = word & (HELD | RESERVED) == HELD
            && self.word.compare_exchange(word, word | RESERVED, Relaxed, Relaxed).is_ok();
        self.reserved
    }
}

#[cfg(not(loom))]
mod patience {
    use super::super::pace::Pace;
    use super::super::word::{CPU, CREDIT, has_long_waits, held_on, is_overloaded, is_prompt, may_have_blocked};
    use super::*;
    use crate::atomic::give_way;

    /// Time limit of a spin without success, and of a spin with a reservation, in units of about 10 µs.
    const PATIENCE: u32 = 3;
    const PATIENCE_RESERVED: u32 = 20;
    /// Time limit of a spin of an arriving thread while threads are blocked, if the lock changes hands.
    ///
    /// A reservation at its end passes over the blocked threads, and moves the word and the data from one CPU to another.
    /// Where a holder leaves the lock free for some nanoseconds only, a waiter seldom acquires it in another way.
    const PATIENCE_OF_MANY: u32 = 20;
    /// Iterations of a spin, of about 100 ns each, after which a thread leaves the spinning to the thread that spins
    /// already.
    const ROUNDS: u32 = 12;
    /// Number of yields to a holder that was last seen on this CPU before the thread blocks; the second limit is for
    /// a thread that was blocked, which would become the last in the queue.
    const YIELDS: u32 = 8;
    const YIELDS_WOKEN: u32 = 100;
    /// Pauses between two reads of the word; after the first reads they grow.
    ///
    /// Each read takes the cache line from the holder. A thread that works only under the lock leaves it free for some
    /// nanoseconds, which a waiter is unlikely to see however often it reads; it must reserve the lock.
    const PAUSES: u32 = 4;
    const MOST_PAUSES: u32 = 128;
    const READS: u32 = 16;
    /// Pauses between two reads of a lock without recent waiters, which one thread may be acquiring again and again. They
    /// double after each read, from about 0.5 µs to about 10 µs.
    const QUIET_PAUSES: u32 = 32;
    const MOST_QUIET_PAUSES: u32 = 512;
    /// Reads of the word before an arriving thread yields, each after twice as many pauses as the one before; and yields
    /// before it spins or blocks.
    ///
    /// The first number of reads lasts about as long as a yield takes. Where threads wait long, there are many of them: the
    /// second number makes them run in turn faster. Where sections are short, each read costs the holder several of them.
    const LOOKS: u32 = 5;
    const LOOKS_OF_MANY: u32 = 3;
    const LOOKS_OF_SHORT: u32 = 1;
    const TURNS: u32 = 7;
    /// Yields on a lock without blocked threads, and pauses after each.
    ///
    /// All threads of the lock on this CPU together thus read its word every 2 µs or so.
    const ROTATIONS: u32 = 30;
    const ROTATION_PAUSES: u32 = 64;

    impl Spinner<'_> {
        /// Spins while that can pay off; returns whether it acquired the lock.
        pub(in super::super) fn spin(&mut self) -> bool {
            let start = coarse_now();
            let woken = self.has_slept;
            self.is_spinner = false;
            self.reserved = false;
            let (patience, mut until, most_yields) =
                if woken { (0, PATIENCE_RESERVED, YIELDS_WOKEN) } else { (PATIENCE, PATIENCE + 1, YIELDS) };
            let mut pace = Pace::of(self.word, start);
            let (mut changed, mut yields, mut rounds, mut pauses) = (woken, 0, 0, PAUSES);
            let (mut looks, mut turns) = (0, if woken || !self.takes_turns { TURNS } else { 0 });
            let mut rotations = if woken { ROTATIONS } else { 0 };
            self.keeps_prompt = self.takes_turns && pace.is_short();
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
                changed |= (word ^ seen) & (HELD | CREDIT | CPU) != 0 && word::probed(seen) != Some(word);
                seen = word;
                if word & HELD == 0 {
                    free_since = free_since.or(Some(age));
                    // The lock is reserved for a thread that does not run, or it would have acquired the lock. It may
                    // be waiting for this CPU.
                    give_way();
                    pass_time(PAUSES);
                    continue;
                }
                free_since = None;
                pace.learn(self.word, word, self.has_yielded);
                if rotations < ROTATIONS && self.keeps_prompt && is_quiet(word) && !self.is_spinner && !self.reserved {
                    if let Some(switched) = rotation::yield_in_rotation(self.word) {
                        rotations = if switched { rotations + 1 } else { ROTATIONS };
                        self.has_yielded |= switched;
                        pass_time(ROTATION_PAUSES);
                        continue;
                    }
                    rotations = ROTATIONS;
                }
                if turns < TURNS && is_prompt(word) && !self.is_spinner && !self.reserved {
                    if looks < most_looks(word, &pace) {
                        looks += 1;
                        pass_time(1 << looks);
                    } else if let Some(switched) = rotation::yield_in_turn(self.word) {
                        turns += 1;
                        self.has_yielded |= switched;
                    } else {
                        turns = TURNS;
                    }
                    continue;
                }
                let quiet = is_quiet(word) && !self.reserved;
                let is_patient = self.takes_turns && !woken && changed && may_have_blocked(word);
                let extension = if is_patient { PATIENCE_OF_MANY } else { 0 };
                let may_reserve = age >= patience.max(extension);
                pauses = if quiet && age < patience && !pace.is_soon(rounds) {
                    (pauses * 2).clamp(QUIET_PAUSES, MOST_QUIET_PAUSES)
                } else if quiet || self.reserved || may_reserve {
                    PAUSES
                } else {
                    pauses_after(rounds, pauses)
                };
                if !self.awake.is_in(word) {
                    self.set_awake(word);
                } else if !self.is_spinner && !woken && (is_overloaded(word) || rounds > ROUNDS) {
                    return false;
                }
                if !self.reserved && (changed || quiet) && may_reserve && self.reserve(word) {
                    until = age + if changed { PATIENCE_RESERVED } else { PATIENCE };
                } else if held_on(word, cpu_hint()) {
                    if yields == most_yields {
                        return false;
                    }
                    yields += 1;
                    give_way();
                } else if age >= until.max(extension + 1) {
                    return false;
                }
                rounds += 1;
                pass_time(pauses);
            }
        }
    }

    fn most_looks(word: u32, pace: &Pace) -> u32 {
        match (pace.is_short(), has_long_waits(word)) {
            (true, _) => LOOKS_OF_SHORT,
            (false, true) => LOOKS_OF_MANY,
            (false, false) => LOOKS,
        }
    }

    /// Returns the pauses before the next read of a lock with recent waiters, after `reads` of it and `pauses` before the last.
    ///
    /// The next read follows after a seventh of the pauses so far at most, and so is late by no more than that.
    fn pauses_after(reads: u32, pauses: u32) -> u32 {
        if reads < READS { PAUSES } else { (pauses + pauses / 8 + 1).min(MOST_PAUSES) }
    }

    fn pass_time(pauses: u32) {
        (0..pauses).for_each(|_| pause());
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn later_reads_are_late_by_at_most_a_seventh_of_the_wait() {
            let (mut pauses, mut waited) = (PAUSES, 0);
            for reads in 0..100 {
                pauses = pauses_after(reads, pauses);
                assert!(if reads < READS { pauses == PAUSES } else { pauses > PAUSES && pauses <= waited / 7 });
                waited += pauses;
            }
            assert_eq!(pauses, MOST_PAUSES);
        }
    }
}

/// Makes one attempt, and a second one with a reservation for a thread that was blocked: in a model, the length of a
/// spin proves nothing.
#[cfg(loom)]
impl Spinner<'_> {
    /// Every second thread probes plain-held locks, so that the model has words with a probe and without one.
    fn probes() -> bool {
        (crate::restartable::current_thread() >> 6).is_multiple_of(2)
    }

    pub(super) fn spin(&mut self) -> bool {
        self.is_spinner = false;
        self.reserved = false;
        let word = self.word.load(Relaxed);
        if self.take(word, false) {
            return true;
        }
        if word & HELD == 0 {
            return false;
        }
        self.set_awake(word);
        if Self::probes()
            && let Some(probed) = word::probed(word)
        {
            let _ = self.word.compare_exchange(word, probed, Relaxed, Relaxed);
        }
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
