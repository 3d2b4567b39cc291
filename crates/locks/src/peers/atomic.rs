//! Atomics, spinning, sleeping and time, as the locks of this directory use them.
//!
//! The models of the locks (`tests/models`) have a module of the same name, which provides loom's.

use instruments::clock::Clock;
use rustix::thread::futex;
use std::sync::LazyLock;
pub use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The number of iterations of a spinning wait, after which each further one also yields the CPU. The same as of
/// `ticket` and `mcs` in `ulocks`, so that the algorithms differ and not their waiting.
const ROUNDS: u32 = 1_000;

/// Spins until the condition holds.
#[inline]
pub fn spin_until(mut done: impl FnMut() -> bool) {
    let mut round = 0_u32;
    while !done() {
        if round < ROUNDS {
            std::hint::spin_loop();
            round += 1;
        } else {
            std::thread::yield_now();
        }
    }
}

/// Spins until the condition holds, for at most this number of iterations. Returns whether it holds.
#[inline]
pub fn spin_for(rounds: u32, mut done: impl FnMut() -> bool) -> bool {
    for _ in 0..rounds {
        if done() {
            return true;
        }
        std::hint::spin_loop();
    }
    done()
}

/// Sleeps unless the word has another value. A sleeper may wake without a reason.
pub fn sleep_while(word: &AtomicU32, value: u32) {
    // The outcome does not matter: the caller reads the word again.
    let _ = futex::wait(word, futex::Flags::PRIVATE, value, None);
}

/// Wakes one thread that sleeps on this word.
///
/// The word itself is not accessed, so the memory may have another use by now: the kernel compares addresses, and a
/// sleeper there wakes without a reason.
pub fn wake_one(word: *const AtomicU32) {
    // SAFETY: FUTEX_WAKE does not access user memory; `word` was valid, so it is not null and aligned.
    unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1) };
}

/// Sleeps for this number of nanoseconds, or somewhat longer.
pub fn sleep_ns(ns: u64) {
    std::thread::sleep(Duration::from_nanos(ns));
}

/// The time for which the clock's rate is measured, once per process.
const CALIBRATION: Duration = Duration::from_millis(10);

static CLOCK: LazyLock<Clock> = LazyLock::new(|| Clock::calibrate(CALIBRATION).clock);

/// A monotonic time that can be read in a few nanoseconds.
#[derive(Clone, Copy)]
pub struct Ticks(Clock);

impl Ticks {
    pub fn new() -> Self {
        Self(*CLOCK)
    }

    #[inline(always)]
    pub fn now(self) -> u64 {
        self.0.now()
    }

    pub fn of_ns(self, ns: u64) -> u64 {
        self.0.ticks_in(Duration::from_nanos(ns))
    }

    pub fn to_ns(self, ticks: u64) -> u64 {
        self.0.to_ns(ticks) as u64
    }
}

/// Orders two `SeqCst` accesses for loom, which treats them as `AcqRel`; here they are in one order by themselves.
#[inline(always)]
pub fn between_seqcst() {}

/// The number of slots of each of the following arrays, as in the papers.
pub const SLOTS: usize = 4096;

/// Returns the waiting array of all [`Twa`](super::twa::Twa) locks.
pub fn twa_slots() -> &'static [AtomicU64] {
    static ARRAY: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
    &ARRAY
}

/// Returns the waiting array of all [`Hapax`](super::hapax::Hapax) locks.
pub fn hapax_slots() -> &'static [AtomicU64] {
    static ARRAY: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];
    &ARRAY
}

/// Returns the table of readers of all [`Bravo`](super::bravo::Bravo) locks.
pub fn bravo_readers() -> &'static [AtomicUsize] {
    static ARRAY: [AtomicUsize; SLOTS] = [const { AtomicUsize::new(0) }; SLOTS];
    &ARRAY
}
