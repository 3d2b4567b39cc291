//! A FlexGuard-like lock: waiters spin while the holder runs, and sleep as soon as it does not.
//!
//! # State
//! | word | meaning | written by |
//! |---|---|---|
//! | `word` = 0 | released | the holder, by swap |
//! | `word`, lower 31 bits | the number of the holder in the table of threads | the acquiring thread, by compare-and-swap |
//! | `word`, bit 31 | threads may sleep | waiters, by compare-and-swap; the acquiring thread that has slept |
//!
//! A waiter looks at the holder's [last switch](super::switches) about once per microsecond: it spins while the holder
//! runs, and sleeps on `word` when the holder is switched out.
//!
//! # Ordering
//! `word` is acquired with `Acquire` and released with a `Release` swap. A sleeper sets bit 31 before it sleeps, and
//! the kernel compares the whole word: either the release sees the bit and wakes a thread, or the comparison fails. A
//! woken thread keeps the bit set, since others may still sleep.
//!
//! # Fairness
//! None: any thread may acquire a released lock.
//!
//! # A stopped or dead holder
//! Waiters sleep after about a microsecond, and take no CPU time.
//!
//! # Source
//! Victor Laforet, Sanidhya Kashyap, Călin Iorgulescu, Julia Lawall and Jean-Pierre Lozi, "FlexGuard: Fast Mutual
//! Exclusion Independent of Subscription", SOSP 2025. From the paper: spinning while no holder is preempted, sleeping
//! otherwise, and the scheduler as the source. Different here, so that no privilege is needed: the paper has a BPF
//! program on `sched_switch`, which counts the preempted holders of the whole process. Here a waiter reads the record
//! of the one holder, which costs more. Not here: the queue of the paper's spinning waiters (an MCS queue), and the
//! telling of a preempted critical section from a preempted lock function by the address of the instruction. Where the
//! kernel refuses the event (`perf_event_paranoid` above 2, a seccomp filter), a waiter does not know the holder's
//! state and sleeps after a fixed number of rounds.

use super::algorithm::Algorithm;
use super::atomic::{AtomicU32, Ordering, sleep_while, spin_for, wake_one};
use super::switches::{is_switched_out, own_number};

const SLEEPERS: u32 = 1 << 31;

/// The number of iterations between two looks at the holder: about a microsecond.
const LOOK_EVERY: u32 = 32;
/// The number of iterations after which a waiter sleeps that does not know the holder's state.
const MOST_BLIND: u32 = 1_000;

pub struct FlexGuard {
    word: AtomicU32,
}

impl FlexGuard {
    #[cold]
    fn wait(&self, own: u32) {
        let (mut kept, mut rounds) = (0, 0);
        loop {
            let mut word = 0;
            let is_released = spin_for(LOOK_EVERY, || {
                word = self.word.load(Ordering::Relaxed);
                word == 0
            });
            if is_released {
                if self.word.compare_exchange(0, own | kept, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return;
                }
                continue;
            }
            rounds += LOOK_EVERY;
            let sleeps = is_switched_out(word & !SLEEPERS).unwrap_or(rounds >= MOST_BLIND);
            if sleeps && self.announce(word) {
                sleep_while(&self.word, word | SLEEPERS);
                (kept, rounds) = (SLEEPERS, 0);
            }
        }
    }

    /// Sets the bit that requests a wake. Returns false if the word has changed.
    fn announce(&self, word: u32) -> bool {
        word & SLEEPERS != 0
            || self.word.compare_exchange(word, word | SLEEPERS, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl Algorithm for FlexGuard {
    type Held = ();

    fn new() -> Self {
        Self { word: AtomicU32::new(0) }
    }

    #[inline(always)]
    fn acquire(&self) {
        let own = own_number();
        if self.word.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait(own);
        }
    }

    #[inline(always)]
    unsafe fn release(&self, (): ()) {
        let word = &raw const self.word;
        if self.word.swap(0, Ordering::Release) & SLEEPERS != 0 {
            wake_one(word);
        }
    }
}
