//! The word of an adaptive lock: the meaning of its bits, and the transitions between its values as pure functions.

pub(super) const HELD: u32 = 1;
pub(super) const WAITERS: u32 = 1 << 1;
pub(super) const RESERVED: u32 = 1 << 2;
const ONE_AWAKE: u32 = 1 << 3;
const AWAKE: u32 = 15 * ONE_AWAKE;
/// The values of `AWAKE` from this one on stand for a thread that was woken; smaller ones stand for a thread that spins.
///
/// This one means that the woken thread is not to lose its turn. The larger ones count the wake-ups since a thread responded.
const AWAITED: u32 = 11 * ONE_AWAKE;
const WOKEN: u32 = AWAITED + ONE_AWAKE;
const CPU_SHIFT: u32 = 7;
const CPU: u32 = 0xff << CPU_SHIFT;
const STAMP_SHIFT: u32 = 15;

/// Time after which the lock is handed off to a blocked thread although others spin for it, in units of about 10 µs.
///
/// Between two hand-offs the lock stays among running threads, which need no wake-up: a longer time makes it faster. A
/// hundred and more blocked threads are all to be served within 50 ms.
pub(super) const SLICE: u32 = 30;
/// Time since a blocked thread was served, in the same units, after which the last section was longer than a slice: a release
/// before it would have handed the lock off. A lock that is then left to a woken thread until the scheduler runs it is idle
/// for not much longer than it is held.
pub(super) const LONG: u32 = 2 * SLICE;

/// Value of the field `AWAKE` that a spinning thread of this process generation sets.
///
/// A value of another generation was set by a thread of the parent that does not exist in this forked process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Awake(u32);

impl Awake {
    pub(super) const fn new(generation: u32) -> Self {
        Awake((generation % (AWAITED / ONE_AWAKE - 1) + 1) * ONE_AWAKE)
    }

    /// Returns whether a spinning thread of this generation has set the field in `word`.
    pub(super) fn is_in(self, word: u32) -> bool {
        word & AWAKE == self.0
    }

    /// Returns whether `word` identifies a thread that will acquire the lock or clear the field.
    pub(super) fn is_any_in(self, word: u32) -> bool {
        self.is_in(word) || is_woken(word)
    }

    /// Returns `word` with the field set.
    pub(super) fn put_in(self, word: u32) -> u32 {
        word & !AWAKE | self.0
    }
}

fn is_woken(word: u32) -> bool {
    word & AWAKE >= AWAITED
}

/// The history of a waiting thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Past {
    /// It has blocked or announced that it would, so that other threads may rely on it.
    pub(super) slept: bool,
    /// It was woken, so that it goes before threads that arrive.
    pub(super) woken: bool,
    /// It has set `AWAKE`.
    pub(super) spins: bool,
    /// A reservation of the lock is for it.
    pub(super) reserved: bool,
}

impl Past {
    /// That of a thread that has just arrived.
    pub(super) const NONE: Past = Past { slept: false, woken: false, spins: false, reserved: false };

    /// That of a thread that gives up: its reservation ends.
    pub(super) fn leaving(self) -> Past {
        Past { woken: false, reserved: self.woken || self.reserved, ..self }
    }

    /// Returns whether this thread may acquire the lock; with `void`, no reservation counts.
    pub(super) fn may_take(self, word: u32, void: bool) -> bool {
        word & HELD == 0 && (word & RESERVED == 0 || self.woken || self.reserved || void)
    }

    /// Returns the unlocked `word` as acquired by this thread on this CPU.
    ///
    /// Without `WAITERS` the lock becomes plain-held. A thread that has slept sets the flag, since others may have blocked
    /// because they relied on it. Otherwise a thread that acquires the lock repeatedly leaves the word as it was, so that
    /// others can block in the meantime.
    #[inline]
    pub(super) fn taken(self, word: u32, awake: Awake, cpu: u32, now: impl FnOnce() -> u32) -> u32 {
        if word & WAITERS == 0 && !self.slept {
            return HELD;
        }
        let is_mine = (self.spins && awake.is_in(word)) || (self.woken && is_woken(word));
        let rest = word & !(CPU | RESERVED) & if is_mine { !AWAKE } else { !0 };
        let taken = rest | HELD | cpu << CPU_SHIFT;
        let taken = if self.slept { taken | WAITERS } else { taken };
        if self.woken || word & WAITERS == 0 { stamped(taken, now()) } else { taken }
    }

    /// Returns the held `word` as this thread leaves it before it blocks: the holder will wake a thread, or the spinner of
    /// `AWAKE` will take over that duty.
    ///
    /// A thread that was woken in vain reserves the lock. Otherwise a holder that returns at once would acquire it each time
    /// before this thread runs.
    pub(super) fn marked(self, word: u32, awake: Awake, now: impl FnOnce() -> u32) -> u32 {
        let keeps_awake = awake.is_in(word) && !self.spins;
        let rest = if keeps_awake { word } else { word & !AWAKE };
        let rest = match self {
            Past { woken: true, .. } => rest | RESERVED,
            Past { reserved: true, .. } => rest & !RESERVED,
            _ => rest,
        };
        if word & WAITERS == 0 { stamped(rest | WAITERS, now()) } else { rest }
    }
}

/// Word that a release writes, and whether the releasing thread then wakes a blocked waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Freed {
    pub(super) word: u32,
    pub(super) wakes: bool,
}

/// Returns the word that releases the lock.
///
/// Without `WAITERS`, only a reservation is left of it. With the flag, a blocked thread is woken if no other one is awake.
/// If its slice is over, the lock is reserved for it.
#[inline]
pub(super) fn freed(word: u32, awake: Awake, now: impl FnOnce() -> u32) -> Freed {
    let free = word & !HELD;
    if word & WAITERS == 0 {
        return Freed { word: free & RESERVED, wakes: false };
    }
    let now = now();
    let age = now.wrapping_sub(word >> STAMP_SHIFT) & (u32::MAX >> STAMP_SHIFT);
    if age >= SLICE {
        handed_to_blocked(free, age, now)
    } else if awake.is_any_in(word) {
        Freed { word: free, wakes: false }
    } else {
        Freed { word: stamped(free & !AWAKE | WOKEN, now), wakes: true }
    }
}

/// Returns the word that hands the lock off to the blocked thread that is woken next, if there may be one.
pub(super) fn handed_off(word: u32, awake: Awake, now: impl FnOnce() -> u32) -> Freed {
    if word & WAITERS == 0 { freed(word, awake, now) } else { handed_to_blocked(word & !HELD, 0, now()) }
}

/// A thread that has not responded to a wake-up may not exist. After the fourth such wake-up or the fifth, the lock becomes
/// one without waiters: a thread that is merely late sets the flags again.
fn handed_to_blocked(free: u32, age: u32, now: u32) -> Freed {
    let word = match free & AWAKE {
        AWAKE => return Freed { word: free & RESERVED, wakes: true },
        AWAITED.. => free + ONE_AWAKE,
        _ => free & !AWAKE | if age >= LONG { AWAITED } else { WOKEN },
    };
    Freed { word: stamped(word | RESERVED, now), wakes: true }
}

/// Returns whether the lock is unlocked and reserved for a woken thread that must not lose its turn.
pub(super) fn is_left_to_woken(word: u32) -> bool {
    word & (HELD | RESERVED) == RESERVED && word & AWAKE == AWAITED
}

/// Returns whether threads may be blocked, so that a release must check, and is not a plain store.
pub(super) fn may_have_blocked(word: u32) -> bool {
    word & WAITERS != 0
}

/// Returns whether the lock has changed hands between these two words of a held lock, as far as they show.
#[cfg(not(loom))]
pub(super) fn has_moved(before: u32, word: u32) -> bool {
    (before ^ word) & (HELD | CPU) != 0
}

/// Returns whether the holder was last seen on this CPU.
#[cfg(not(loom))]
pub(super) fn is_held_on(word: u32, cpu: u32) -> bool {
    word & CPU != 0 && (word & CPU) >> CPU_SHIFT == cpu
}

/// Returns `word` with the time 0.
#[cfg(all(test, not(loom)))]
pub(super) fn without_stamp(word: u32) -> u32 {
    stamped(word, 0)
}

fn stamped(word: u32, now: u32) -> u32 {
    word & u32::MAX >> (u32::BITS - STAMP_SHIFT) | now << STAMP_SHIFT
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const AWAKE_NOW: Awake = Awake::new(0);
    const SLEPT: Past = Past { slept: true, woken: true, ..Past::NONE };

    /// The word of a lock with a blocked thread, acquired on CPU 1 by a woken one at time 0.
    fn contended() -> u32 {
        SLEPT.taken(WAITERS, AWAKE_NOW, 1, || 0)
    }

    fn taken(word: u32, cpu: u32) -> u32 {
        Past::NONE.taken(word, AWAKE_NOW, cpu, || unreachable!("only a thread that has slept notes the time"))
    }

    fn freed_at(word: u32, now: u32) -> Freed {
        freed(word, AWAKE_NOW, || now)
    }

    #[test]
    fn word_stays_the_same_while_one_thread_acquires_it_repeatedly() {
        let held = AWAKE_NOW.put_in(contended());
        let free = freed_at(held, SLICE - 1);
        assert_eq!(free, Freed { word: held & !HELD, wakes: false });
        assert_eq!(taken(free.word, 1), held);
        assert_ne!(taken(free.word, 2), held);
    }

    #[test]
    fn lock_without_waiters_is_plain() {
        assert_eq!((taken(0, 1), taken(RESERVED, 1)), (HELD, HELD));
        assert_eq!(freed_at(HELD | RESERVED, 0), Freed { word: RESERVED, wakes: false });
    }

    #[test]
    fn blocked_thread_is_woken_at_once_unless_another_is_awake() {
        let woken = freed_at(contended(), 1);
        assert!(woken.wakes && woken.word & RESERVED == 0);
        assert!(!freed_at(woken.word | HELD, 2).wakes, "it will acquire the lock, or block");
        assert!(!freed_at(AWAKE_NOW.put_in(contended()), 1).wakes);
        assert!(freed_at(Awake::new(1).put_in(contended()), 1).wakes, "that thread was left behind by a fork");
    }

    #[test]
    fn lock_is_handed_off_once_a_slice_whoever_spins() {
        for held in [contended(), AWAKE_NOW.put_in(contended())] {
            let freed = freed_at(held, SLICE);
            assert!(freed.wakes && freed.word & RESERVED != 0);
            assert!(Past::NONE.may_take(freed.word, true) && !Past::NONE.may_take(freed.word, false));
            let next = SLEPT.taken(freed.word, AWAKE_NOW, 2, || SLICE);
            assert!(!freed_at(AWAKE_NOW.put_in(next), 2 * SLICE - 1).wakes);
        }
    }

    #[test]
    fn lock_is_left_to_a_woken_thread_after_long_sections_only() {
        let is_left = |word: u32, age| is_left_to_woken(freed_at(word, age).word);
        assert!(is_left(contended(), LONG) && !is_left(contended(), LONG - 1));
        let unanswered = freed_at(contended(), LONG).word | HELD;
        assert!(!is_left(unanswered, 2 * LONG), "that thread may not exist");
    }

    #[test]
    fn lock_of_threads_that_do_not_respond_becomes_plain() {
        let mut word = contended();
        let wakes = (1..).find(|&nth| {
            let freed = freed_at(word | HELD, nth * SLICE);
            assert!(freed.wakes);
            word = freed.word & !RESERVED;
            word == 0
        });
        assert_eq!(wakes, Some(5));
    }

    #[test]
    fn thread_that_was_woken_in_vain_reserves_the_lock() {
        let (reserved, held) = (Past { reserved: true, ..SLEPT }, contended() | RESERVED);
        assert_eq!(SLEPT.marked(contended(), AWAKE_NOW, || 0), held);
        let arrived = Past { woken: false, ..reserved };
        assert_eq!(arrived.marked(held, AWAKE_NOW, || 0), held & !RESERVED, "it has not waited in the queue");
        assert!(!Past { reserved: false, ..arrived }.may_take(RESERVED, false), "the kernel has refused to block it");
    }

    #[test]
    fn first_blocked_thread_waits_for_a_slice_too() {
        let held = Past { slept: true, ..Past::NONE }.marked(HELD, AWAKE_NOW, || 7);
        assert!(freed_at(held, 7 + SLICE).word & RESERVED != 0);
        assert!(freed_at(held, 6 + SLICE).word & RESERVED == 0);
    }

    #[test]
    fn blocking_thread_relies_on_a_spinner_not_on_a_woken_one() {
        let spinning = AWAKE_NOW.put_in(contended());
        assert_eq!(Past { woken: false, ..SLEPT }.marked(spinning, AWAKE_NOW, || 0), spinning);
        let woken = freed_at(contended(), 1).word | HELD;
        let marked = SLEPT.marked(woken, AWAKE_NOW, || 0);
        assert!(!AWAKE_NOW.is_any_in(marked), "the wake-up may have found no thread");
    }
}
