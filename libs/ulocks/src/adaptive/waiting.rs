//! The slow path of acquisition: spin, block, check again.

use super::{
    generation, rotation,
    spinning::Spinner,
    word::{HELD, WAITERS, may_be_stored_over, may_have_blocked},
};
use crate::{
    atomic::{AtomicU32, Ordering::Relaxed},
    count::Count,
    futex::{self, Deadline, Scope, Wait},
    restartable,
};
use core::time::Duration;

/// Longest sleep where no thread can guarantee a wake-up.
const UNFENCED_SLEEP: Duration = Duration::from_millis(1);
/// Longest sleep between processes, where a wake-up may be lost with the process that was woken.
const SHARED_SLEEP: Duration = Duration::from_millis(100);

/// The class of a thread that was woken and did not get the lock: it is woken before all others, once. A thread that always
/// comes too late thus does not keep the others from being woken.
const FIRST: u32 = 1;
const OTHERS: u32 = 2;

/// Wakes a blocked thread, if there is one. The memory may have been reused: the kernel receives the address of the word and
/// does not read the word.
pub(super) fn wake<S: Scope>(word: &AtomicU32) {
    if futex::wake::<S>(word, 1, FIRST) == 0 {
        futex::wake::<S>(word, 1, futex::ALL);
    }
}

/// Result of the attempt to announce a thread that wants to block.
enum Announced {
    /// The lock was unlocked, and the thread has acquired it.
    Taken,
    /// The lock is held, and the holder will see the flag: block while the word has this value.
    Sleep { word: u32, at_most: Option<Duration> },
}

/// Acquires the lock or gives up at the deadline; returns whether it acquired the lock.
#[cold]
pub(super) fn wait<S: Scope>(word: &AtomicU32, counts: &impl Count, deadline: Option<Deadline>) -> bool {
    counts.write_contended();
    let mut spinner = Spinner::arriving(word, generation::awake::<S>(), S::PRIVATE && deadline.is_none());
    if spinner.spin() {
        counts.spun();
        return true;
    }
    let mut class = OTHERS;
    loop {
        let Announced::Sleep { word: expected, at_most } = announce::<S>(word, &mut spinner) else {
            return true;
        };
        counts.slept();
        rotation::used(core::ptr::from_ref(word).addr());
        let until = futex::sooner(deadline, at_most);
        let ended = futex::wait::<S>(word, expected, class, until);
        // A signal handler may have run past the deadline while the lock was released: POSIX requires another check.
        let looks_again = matches!(ended, Wait::Woken | Wait::Interrupted);
        if !looks_again && deadline.is_some_and(|deadline| deadline.passed()) {
            give_up::<S>(word, &spinner);
            return false;
        }
        if spinner.spin() {
            return true;
        }
        if matches!(ended, Wait::Woken) {
            class = if class == OTHERS { FIRST } else { OTHERS };
        }
    }
}

/// Ensures that the holder, if there is one, wakes a thread.
fn announce<S: Scope>(word: &AtomicU32, spinner: &mut Spinner<'_>) -> Announced {
    spinner.will_sleep();
    let mut now = word.load(Relaxed);
    loop {
        if now & HELD == 0 {
            if spinner.take(now, true) {
                return Announced::Taken;
            }
            now = word.load(Relaxed);
            continue;
        }
        let mark = spinner.marked(now);
        if !may_have_blocked(now) {
            rotation::crowds(core::ptr::from_ref(word).addr());
        }
        if mark == now {
            return Announced::Sleep { word: mark, at_most: longest_sleep::<S>() };
        }
        if !S::PRIVATE || !may_be_stored_over(now) {
            match word.compare_exchange_weak(now, mark, Relaxed, Relaxed) {
                Ok(_) => return Announced::Sleep { word: mark, at_most: longest_sleep::<S>() },
                Err(changed) => now = changed,
            }
            continue;
        }
        now = match restartable::mark_and_fence(word, now, mark) {
            Err(changed) => changed,
            Ok(()) => word.load(Relaxed),
        };
    }
}

fn longest_sleep<S: Scope>() -> Option<Duration> {
    if !S::PRIVATE {
        Some(SHARED_SLEEP)
    } else if restartable::may_be_in_vain() {
        Some(UNFENCED_SLEEP)
    } else {
        None
    }
}

/// Leaves without the lock.
///
/// Other threads may have relied on this thread. It therefore makes the holder wake one of them; if there is no
/// holder, it wakes one now.
fn give_up<S: Scope>(word: &AtomicU32, spinner: &Spinner<'_>) {
    let mut now = word.load(Relaxed);
    while now & (HELD | WAITERS) == HELD | WAITERS {
        match word.compare_exchange_weak(now, spinner.marked(now), Relaxed, Relaxed) {
            Ok(_) => return,
            Err(changed) => now = changed,
        }
    }
    wake::<S>(word);
}
