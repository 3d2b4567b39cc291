//! Waiting for either side: spin, sleep, look again.

use super::word::{COUNT, Claim, READERS, READING, RESERVED, Side, WRITER, WRITERS, WRITING, is_free};
use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed},
        pause,
    },
    count::Count,
    futex::{self, Deadline, Scope, Wait},
};
use core::{marker::PhantomData, time::Duration};

/// Between processes a wake may be lost with the process that it woke.
const SHARED_SLEEP: Duration = Duration::from_millis(100);

/// A thread that waits.
struct Waiter<'a, W> {
    word: &'a AtomicU32,
    claim: Claim,
    side: PhantomData<W>,
}

/// Takes the lock, or gives up at the deadline; says which.
#[cold]
pub(super) fn wait<S: Scope, W: Side>(word: &AtomicU32, counts: &impl Count, deadline: Option<Deadline>) -> bool {
    let mut waiter = Waiter::<W> { word, claim: Claim::NONE, side: PhantomData };
    if waiter.spin() {
        counts.spun();
        return true;
    }
    let nap = (!S::PRIVATE).then_some(SHARED_SLEEP);
    loop {
        let ended = match waiter.mark() {
            Marked::Taken => return true,
            // As many readers as can be counted: none that leaves will say so.
            Marked::Full if futex::nap(deadline) => Wait::TimedOut,
            Marked::Full => Wait::Changed,
            Marked::At(expected) => {
                counts.slept();
                futex::wait::<S>(word, expected, W::QUEUE, futex::sooner(deadline, nap))
            }
        };
        // A reader that looks for itself has not had its turn: it is one of those that a waiting writer goes before.
        // Neither has one that a signal handler interrupted.
        waiter.claim.slept |= if W::MARK == READERS { ended == Wait::Woken } else { ended != Wait::Changed };
        // The handler of a signal may have run past the deadline, and the lock be free by now: POSIX asks for another look.
        let looks_again = matches!(ended, Wait::Woken | Wait::Interrupted);
        if !looks_again && deadline.is_some_and(|deadline| deadline.passed()) {
            waiter.give_up::<S>();
            return false;
        }
        if waiter.spin() {
            return true;
        }
    }
}

/// What a thread that wants to sleep found.
enum Marked {
    /// The lock is its own.
    Taken,
    /// It can sleep while the word is this.
    At(u32),
    /// There is no room, and nobody will wake it.
    Full,
}

impl<W: Side> Waiter<'_, W> {
    fn take(&self, word: u32, void: bool) -> bool {
        W::taken(word, Claim { void, ..self.claim })
            .is_some_and(|taken| self.word.compare_exchange(word, taken, Acquire, Relaxed).is_ok())
    }

    /// Asks that nobody who has not slept gets the lock before it: for a thread that has.
    fn reserve(&mut self, word: u32) {
        self.claim.reserved |=
            word & RESERVED == 0 && self.word.compare_exchange(word, word | RESERVED, Relaxed, Relaxed).is_ok();
    }

    /// Sees to it that it will be woken, if there is a holder. A lock without one is not slept on, whoever it is kept
    /// for.
    fn mark(&mut self) -> Marked {
        loop {
            let word = self.word.load(Relaxed);
            if !W::must_wait(word) {
                if self.take(word, true) {
                    return Marked::Taken;
                }
                if word & (WRITER | COUNT) == COUNT {
                    return Marked::Full;
                }
                continue;
            }
            // A writer that was woken and found the lock taken keeps its reservation while it sleeps, or the reader
            // that leaves last, and comes again at once, would have the lock each time before it is awake.
            let keeps = W::MARK == WRITERS;
            let marked = if keeps { word } else { self.without_reservation(word) } | W::MARK;
            if word == marked || self.word.compare_exchange(word, marked, Relaxed, Relaxed).is_ok() {
                self.claim.reserved &= keeps;
                return Marked::At(marked);
            }
        }
    }

    fn without_reservation(&self, word: u32) -> u32 {
        if self.claim.reserved { word & !RESERVED } else { word }
    }

    /// Leaves without the lock. Others may have relied on this thread: the holder is told of them, or, if there is
    /// none, one is woken now.
    fn give_up<S: Scope>(&self) {
        loop {
            let word = self.word.load(Relaxed);
            let mark = if self.claim.slept && !is_free(word) { W::MARK & WRITERS } else { 0 };
            let left = self.without_reservation(word) | mark;
            if self.word.compare_exchange(word, left, Relaxed, Relaxed).is_err() {
                continue;
            }
            if is_free(left) && futex::wake::<S>(self.word, 1, WRITING) == 0 && left & READERS != 0 {
                futex::wake::<S>(self.word, u32::MAX, READING);
            }
            return;
        }
    }
}

#[cfg(not(loom))]
mod patience {
    use super::*;
    use crate::{atomic::give_way, cpu::coarse_now};

    /// How long a spin lasts, how long one with a reservation does, and after how long a reservation is void: in units
    /// of about 10 µs.
    const PATIENCE: u32 = 3;
    /// For so long a free lock is left to whom it is reserved for: longer than it takes to wake on another CPU.
    const PATIENCE_FREE: u32 = 20;
    const PATIENCE_RESERVED: u32 = 20;
    const VOID: u32 = 2 * PATIENCE_RESERVED;
    /// Rounds of a spin, of some 100 ns each, where others sleep: the queue is long.
    const ROUNDS: u32 = 12;
    const PAUSES: u32 = 4;

    impl<W: Side> Waiter<'_, W> {
        /// Spins while it can pay; says whether it took the lock.
        pub(super) fn spin(&mut self) -> bool {
            let start = coarse_now();
            let patience = if self.claim.slept { PATIENCE_RESERVED } else { PATIENCE };
            let (mut free_since, mut rounds) = (None, 0);
            loop {
                let word = self.word.load(Relaxed);
                let age = coarse_now().wrapping_sub(start);
                self.claim.reserved &= word & RESERVED != 0;
                let void = age > VOID || free_since.is_some_and(|since: u32| age.wrapping_sub(since) > PATIENCE_FREE);
                if self.take(word, void) {
                    return true;
                }
                rounds += 1;
                if is_free(word) {
                    // Kept for a thread that is not running, or it would have taken it: perhaps this CPU is its.
                    free_since = free_since.or(Some(age));
                    give_way();
                    continue;
                }
                free_since = None;
                if self.claim.slept && !self.claim.reserved {
                    self.reserve(word);
                }
                let is_crowded = !self.claim.slept && word & (WRITERS | READERS) != 0 && rounds > ROUNDS;
                if age > VOID || (W::must_wait(word) && (age >= patience || is_crowded)) {
                    return false;
                }
                // A look at a word that others change takes it away from them.
                (0..PAUSES.max(rounds.min(64))).for_each(|_| pause());
            }
        }
    }
}

/// In a model the length of a spin proves nothing: one try, and for one that has slept another with a reservation.
#[cfg(loom)]
impl<W: Side> Waiter<'_, W> {
    fn spin(&mut self) -> bool {
        let word = self.word.load(Relaxed);
        self.claim.reserved &= word & RESERVED != 0;
        if self.take(word, false) {
            return true;
        }
        if self.claim.slept && !is_free(word) {
            self.reserve(word);
        }
        pause();
        let word = self.word.load(Relaxed);
        self.claim.reserved &= word & RESERVED != 0;
        self.take(word, false)
    }
}
