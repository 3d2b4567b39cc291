//! Waiting: spin, sleep, look again.

use super::{
    generation,
    spinning::Spinner,
    word::{HELD, WAITERS, may_be_stored_over},
};
use crate::{
    atomic::{AtomicU32, Ordering::Relaxed},
    count::Count,
    futex::{self, Deadline, Scope, Wait},
    restartable,
};
use core::time::Duration;

/// How long to sleep where nothing can promise a wake.
const UNFENCED_SLEEP: Duration = Duration::from_millis(1);
/// Between processes a wake may be lost with the process that it woke.
const SHARED_SLEEP: Duration = Duration::from_millis(100);

/// What a thread that wants to sleep found.
enum Announced {
    /// The lock was free, and is taken.
    Taken,
    /// Held, and the holder knows: sleep while the word is this.
    Sleep { word: u32, at_most: Option<Duration> },
}

/// Takes the lock, or gives up at the deadline; says which.
#[cold]
pub(super) fn wait<S: Scope>(word: &AtomicU32, counts: &impl Count, deadline: Option<Deadline>) -> bool {
    counts.write_contended();
    let mut spinner = Spinner::arriving(word, generation::awake::<S>());
    if spinner.spin() {
        counts.spun();
        return true;
    }
    loop {
        let Announced::Sleep { word: expected, at_most } = announce::<S>(word, &mut spinner) else {
            return true;
        };
        counts.slept();
        let until = futex::sooner(deadline, at_most);
        let ended = futex::wait::<S>(word, expected, futex::ALL, until);
        // The handler of a signal may have run past the deadline, and the lock be free by now: POSIX asks for another look.
        let looks_again = matches!(ended, Wait::Woken | Wait::Interrupted);
        if !looks_again && deadline.is_some_and(|deadline| deadline.passed()) {
            give_up::<S>(word, &spinner);
            return false;
        }
        if spinner.spin() {
            return true;
        }
    }
}

/// Sees to it that the holder wakes somebody, if there is a holder.
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
        if mark == now {
            return Announced::Sleep { word: mark, at_most: longest_sleep::<S>() };
        }
        if !S::PRIVATE || !may_be_stored_over(now) {
            match word.compare_exchange_weak(now, mark, Relaxed, Relaxed) {
                Ok(_) => return Announced::Sleep { word: mark, at_most: longest_sleep::<S>() },
                Err(other) => now = other,
            }
            continue;
        }
        now = match restartable::mark_and_fence(word, now, mark) {
            Err(other) => other,
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

/// Leaves without the lock. Others may have relied on this thread, so the holder is told to wake one of them, or, if
/// there is none that will look, one is woken now.
fn give_up<S: Scope>(word: &AtomicU32, spinner: &Spinner<'_>) {
    let mut now = word.load(Relaxed);
    while now & (HELD | WAITERS) == HELD | WAITERS {
        match word.compare_exchange_weak(now, spinner.marked(now), Relaxed, Relaxed) {
            Ok(_) => return,
            Err(other) => now = other,
        }
    }
    futex::wake::<S>(word, 1, futex::ALL);
}
