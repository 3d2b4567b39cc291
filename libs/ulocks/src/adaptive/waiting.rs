//! The slow path of acquisition: spin, block, check again.

use super::{
    generation,
    spinning::Spinner,
    word::{HELD, RESERVED, WAITERS, may_have_blocked},
};
use crate::{
    atomic::{AtomicU32, Ordering::Relaxed},
    count::Count,
    futex::{self, Deadline, Scope, Wait},
    naps::Naps,
    restartable,
};
use core::time::Duration;

/// Time for which an unlocked lock is left to a woken thread that must not lose its turn: a time slice of the scheduler.
const TURN: Duration = Duration::from_millis(4);

/// The class of a thread that was woken and did not get the lock: it is woken before all others, once. A thread that always
/// comes too late thus does not keep the others from being woken.
pub(super) const FIRST: u32 = 1;
pub(super) const OTHERS: u32 = 2;

/// Wakes a blocked thread, if there is one. The memory may have been reused: the kernel receives the address of the word and
/// does not read the word.
pub(super) fn wake<S: Scope>(word: &AtomicU32) {
    if futex::wake::<S>(word, 1, FIRST) == 0 {
        futex::wake::<S>(word, 1, futex::ALL);
    }
}

/// Acquires the lock or gives up at the deadline; returns whether it acquired the lock.
#[cold]
pub(super) fn wait<S: Scope>(word: &AtomicU32, counts: &impl Count, deadline: Option<Deadline>) -> bool {
    counts.write_contended();
    let mut spinner = Spinner::arriving(word, generation::awake::<S>());
    if spinner.spin(deadline) {
        counts.spun();
        return true;
    }
    let mut class = OTHERS;
    let mut naps = Naps::new();
    let mut has_left_turn = false;
    loop {
        let Some(expected) = announce::<S>(word, &mut spinner, has_left_turn) else {
            return true;
        };
        counts.slept();
        let nap = if expected & HELD == 0 {
            Some(TURN)
        } else {
            // No thread guarantees a wake-up if it may be killed first, or if a plain store may have erased the flag.
            (!S::PRIVATE || restartable::may_be_in_vain()).then(|| naps.next())
        };
        let ended = futex::wait::<S>(word, expected, class, futex::sooner(deadline, nap));
        has_left_turn |= expected & HELD == 0 && ended == Wait::TimedOut;
        // A signal handler may have run past the deadline while the lock was released: POSIX requires another check. The
        // reservation may have been for this thread, which was not there to be woken.
        let now = word.load(Relaxed);
        let is_late = ended == Wait::Interrupted && deadline.is_some_and(|deadline| deadline.passed());
        if is_late && now & HELD == 0 && spinner.take(now, true) {
            return true;
        }
        let looks_again = matches!(ended, Wait::Woken | Wait::Interrupted);
        if !looks_again && deadline.is_some_and(|deadline| deadline.passed()) {
            give_up::<S>(word, &spinner);
            return false;
        }
        if ended == Wait::Woken {
            spinner.was_woken();
            class = FIRST;
        }
        // The end of a nap is not a wake-up: the thread blocks again, unless the lock is unlocked.
        if ended != Wait::TimedOut && spinner.spin(deadline) {
            return true;
        }
    }
}

/// Ensures that the holder will wake a thread, and returns the word with which to block; acquires the lock and returns `None`
/// if there is no holder.
///
/// A thread that was not woken also blocks, for a [turn](TURN), on a lock that is left to a woken one, since that may need this CPU.
/// That thread may not exist, so nothing but the end of this time is certain to wake this one.
fn announce<S: Scope>(word: &AtomicU32, spinner: &mut Spinner<'_>, has_left_turn: bool) -> Option<u32> {
    spinner.will_sleep();
    let mut now = word.load(Relaxed);
    loop {
        if now & HELD == 0 {
            if !has_left_turn && spinner.leaves(now) {
                return Some(now);
            }
            if spinner.take(now, true) {
                return None;
            }
            now = word.load(Relaxed);
            continue;
        }
        let mark = spinner.marked(now);
        if mark == now {
            return Some(mark);
        }
        now = if !S::PRIVATE || may_have_blocked(now) {
            match word.compare_exchange_weak(now, mark, Relaxed, Relaxed) {
                Ok(_) => return Some(mark),
                Err(changed) => changed,
            }
        } else {
            match restartable::mark_and_fence(word, now, mark) {
                Err(changed) => changed,
                Ok(()) => word.load(Relaxed),
            }
        };
    }
}

/// Leaves without the lock.
///
/// Other threads may have relied on this thread. It therefore makes the holder wake one of them; if there is no
/// holder, it wakes one now.
fn give_up<S: Scope>(word: &AtomicU32, spinner: &Spinner<'_>) {
    let mut now = word.load(Relaxed);
    while now & (HELD | WAITERS) == HELD | WAITERS {
        match word.compare_exchange_weak(now, spinner.left(now), Relaxed, Relaxed) {
            Ok(_) => return,
            Err(changed) => now = changed,
        }
    }
    if now & (HELD | RESERVED) == RESERVED {
        // The woken thread that the lock is left to may not exist, and the next call must not wait for it again.
        let _ = word.compare_exchange(now, now & !RESERVED, Relaxed, Relaxed);
    }
    wake::<S>(word);
}
