//! The word of an adaptive lock: the meaning of its bits, and the transitions between its values as pure functions.

pub(super) const HELD: u32 = 1;
pub(super) const WAITERS: u32 = 1 << 1;
pub(super) const RESERVED: u32 = 1 << 2;
const ONE_CREDIT: u32 = 1 << 3;
pub(super) const CREDIT: u32 = 15 << 3;
const ONE_SLICE: u32 = 1 << 7;
const SLICE: u32 = 3 << 7;
const WAKING: u32 = 1 << 9;
const AWAKE_SHIFT: u32 = 10;
const AWAKE: u32 = 15 << AWAKE_SHIFT;
const CPU_SHIFT: u32 = 14;
pub(super) const CPU: u32 = 0xff << CPU_SHIFT;
const STAMP_SHIFT: u32 = 22;
const STAMP: u32 = u32::MAX << STAMP_SHIFT;

/// Longest time for which blocked waiters wait while other threads circulate, in units of about 10 µs; each step of
/// `SLICE` halves it.
const LONGEST_SLICE: u32 = 200;
/// Waiting time in units of about 10 µs above which a waiter that was blocked halves the slice; one below a quarter
/// of it doubles the slice.
const GOOD_WAIT: u32 = 500;

/// Value of the field `AWAKE` that a spinning thread of this process generation sets.
///
/// Any other value in a word was set by a thread of the parent that does not exist in this forked process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Awake(u32);

impl Awake {
    /// Number of distinct generations, counted from 0.
    pub(super) const KINDS: u32 = 15;

    pub(super) fn new(kind: u32) -> Self {
        Awake((kind % Self::KINDS + 1) << AWAKE_SHIFT)
    }

    /// Returns whether a spinning thread of this generation has set the field in `word`.
    pub(super) fn is_in(self, word: u32) -> bool {
        word & AWAKE == self.0
    }

    /// Returns `word` with the field set.
    pub(super) fn put_in(self, word: u32) -> u32 {
        word & !AWAKE | self.0
    }
}

/// Returns `word` with the field `AWAKE` cleared.
pub(super) fn without_awake(word: u32) -> u32 {
    word & !AWAKE
}

/// Word that a release writes, and whether the releasing thread then wakes a blocked waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Freed {
    pub(super) word: u32,
    pub(super) wakes: bool,
}

/// Returns the word that releases the lock to any thread; calls `now` only if threads may be blocked.
///
/// While a thread spins or a woken one is on its way, it does so after one of 14 acquisitions only: reading the clock takes
/// longer than the rest of a release.
pub(super) fn freed(word: u32, awake: Awake, now: impl FnOnce() -> u32) -> Freed {
    let free = word & !(HELD | CPU);
    if word & (WAITERS | AWAKE) == 0 {
        return Freed { word: free, wakes: false };
    }
    if word & WAITERS != 0 {
        let is_left_alone = !awake.is_in(word) && word & WAKING == 0;
        if !is_left_alone && word & CREDIT > ONE_CREDIT {
            return Freed { word: free, wakes: false };
        }
        let now = now();
        let is_due = age(word, now) >= slice(word);
        if is_due || is_left_alone {
            return Freed { word: stamped(waking(free), now) | CREDIT, wakes: true };
        }
    }
    Freed { word: fenced(free), wakes: false }
}

/// Returns `word` with a wake-up noted.
///
/// A wake-up without a response for a whole slice may have found no thread. Each further one doubles the slice; after
/// the longest slice the mark is removed. (A woken thread that is merely late sets it again.)
fn waking(word: u32) -> u32 {
    if word & WAKING == 0 {
        word | WAKING
    } else if word & SLICE != 0 {
        word - ONE_SLICE
    } else {
        word & !(WAITERS | WAKING)
    }
}

/// Returns the word that hands the lock off to the thread that has waited longest.
pub(super) fn handed_off(word: u32, awake: Awake, now: impl FnOnce() -> u32) -> Freed {
    let free = word & !(HELD | CPU);
    if word & WAITERS != 0 {
        return Freed { word: stamped(waking(free), now()) | RESERVED | CREDIT, wakes: true };
    }
    let reserved = if awake.is_in(word) { RESERVED | CREDIT } else { 0 };
    Freed { word: free | reserved, wakes: false }
}

/// Returns the word of an unlocked, unreserved lock as acquired by a thread that did not wait.
pub(super) fn taken_quietly(word: u32, cpu: impl FnOnce() -> u32) -> u32 {
    if word & (WAITERS | AWAKE) == 0 {
        return if word & CREDIT == 0 { HELD } else { (word - ONE_CREDIT) | HELD };
    }
    let taken = word | HELD | cpu() << CPU_SHIFT;
    match (word & CREDIT > ONE_CREDIT, word & WAITERS != 0) {
        (true, _) => taken - ONE_CREDIT,
        (false, true) => taken | CREDIT,
        // No thread is blocked, and the spinner of `AWAKE` has let the lock pass so often that it may not exist any
        // more.
        (false, false) => HELD,
    }
}

/// Returns the word as acquired by a thread that spun; `is_spinner` tells whether that thread set `AWAKE`.
///
/// A lock without recent waiters stays plain-held.
pub(super) fn taken_spinning(word: u32, is_spinner: bool, cpu: u32) -> u32 {
    if is_quiet(word) { HELD } else { taken_contended(word, is_spinner, cpu) }
}

/// With blocked threads, the credit is the last one, so that the next release reads the clock: threads that spin by turns
/// would otherwise renew it forever.
fn taken_contended(word: u32, is_spinner: bool, cpu: u32) -> u32 {
    let base = if is_spinner { without_awake(word) } else { word };
    let credit = if word & WAITERS == 0 { CREDIT } else { ONE_CREDIT };
    base & !(CPU | RESERVED | CREDIT) | HELD | credit | cpu << CPU_SHIFT
}

/// Returns the word as acquired by a thread that blocked, or announced that it would; `waited` is its waiting time.
///
/// It keeps `WAITERS`: other threads may have blocked because they relied on this thread.
pub(super) fn taken_after_sleep(word: u32, is_spinner: bool, cpu: u32, now: u32, waited: u32) -> u32 {
    let taken = taken_contended(word & !WAKING, is_spinner, cpu) | WAITERS;
    stamped(another_slice(taken, waited), now)
}

/// Returns the held word with one more thread about to block: the holder will wake a thread, or the spinner of
/// `AWAKE` will take over that duty.
pub(super) fn marked(word: u32, is_spinner: bool, awake: Awake) -> u32 {
    let base = if is_spinner || !awake.is_in(word) { without_awake(word) } else { word };
    base & !WAKING | WAITERS
}

/// Returns whether no thread is blocked on this lock or has waited for it recently, so that a holder releases it by a
/// plain store even while other threads spin.
pub(super) fn is_quiet(word: u32) -> bool {
    word & (CREDIT | WAITERS) == 0
}

/// Returns whether a holder of this word may release it by a plain store.
pub(super) fn may_be_stored_over(word: u32) -> bool {
    word & CREDIT == 0
}

#[cfg(not(loom))]
/// Returns whether the holder was last seen on this CPU.
pub(super) fn held_on(word: u32, cpu: u32) -> bool {
    word & CPU != 0 && (word & CPU) >> CPU_SHIFT == cpu
}

#[cfg(not(loom))]
/// Returns whether more threads wait than there are CPUs, as far as the word shows.
pub(super) fn is_overloaded(word: u32) -> bool {
    word & (WAITERS | SLICE) != 0
}

/// Returns `word` with a new credit if a plain-held lock is released by a read-modify-write after all.
fn fenced(word: u32) -> u32 {
    if word & CREDIT == 0 { word | CREDIT } else { word }
}

fn stamped(word: u32, now: u32) -> u32 {
    word & !STAMP | now << STAMP_SHIFT
}

fn age(word: u32, now: u32) -> u32 {
    now.wrapping_sub(word >> STAMP_SHIFT) & (STAMP >> STAMP_SHIFT)
}

fn slice(word: u32) -> u32 {
    LONGEST_SLICE >> ((word & SLICE) / ONE_SLICE)
}

fn another_slice(word: u32, waited: u32) -> u32 {
    if waited > GOOD_WAIT && word & SLICE != SLICE {
        word + ONE_SLICE
    } else if waited < GOOD_WAIT / 4 && word & SLICE != 0 {
        word - ONE_SLICE
    } else {
        word
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Returns the number of acquisitions, 10 µs each, after which a blocked thread is woken; all of them by the thread that
    /// released the lock, or all by a spinner.
    fn acquisitions_until_wake(by_spinner: bool) -> Option<u32> {
        let awake = Awake::new(0);
        let mut word = stamped(taken_spinning(CREDIT | WAITERS, true, 1), 0);
        (1..10_000).find(|&now| {
            word = awake.put_in(word);
            let freed = freed(word, awake, || now);
            word = if by_spinner { taken_spinning(freed.word, true, 1) } else { taken_quietly(freed.word, || 1) };
            freed.wakes
        })
    }

    #[test]
    fn blocked_thread_is_woken_however_others_take_turns() {
        assert_eq!(acquisitions_until_wake(true), Some(LONGEST_SLICE));
        // The clock is read after one of 14.
        let late = acquisitions_until_wake(false).unwrap() - LONGEST_SLICE;
        assert!(late < CREDIT / ONE_CREDIT, "{late}");
    }
}
