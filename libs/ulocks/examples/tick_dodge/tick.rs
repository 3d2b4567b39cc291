//! The time until the scheduler's next tick, and the wait until it is over.
//!
//! The kernel sets its coarse clock at the tick, to a multiple of the period since boot. The age of that value at the
//! tick is therefore constant; a thread that reads both clocks again and again sees it when the value changes. A CPU
//! that was idle sets the clock late, so the median of several ticks counts. Ticks at which the thread was preempted
//! do not count.

use libc::{CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, clockid_t, timespec};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Distance from the tick within which a hold counts as in danger: the tick's interrupt comes some microseconds early
/// or late.
const MARGIN_NS: u64 = 12_000;

fn read(clock: clockid_t) -> u64 {
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a whole `timespec`.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Returns the time in nanoseconds.
pub fn now() -> u64 {
    read(CLOCK_MONOTONIC)
}

/// The phase of the tick.
pub struct Tick {
    pub period_ns: u64,
    /// Age of the coarse clock at the tick.
    age_ns: u64,
}

/// Ticks from which the phase is learned.
const TICKS: usize = 25;

impl Tick {
    /// Learns the phase for some periods.
    pub fn learn() -> Self {
        let mut period = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a whole `timespec`.
        unsafe { libc::clock_getres(CLOCK_MONOTONIC_COARSE, &raw mut period) };
        let mut ages: Vec<u64> = (0..TICKS).map(|_| age_at_change()).collect();
        ages.sort_unstable();
        Tick { period_ns: period.tv_nsec as u64, age_ns: ages[TICKS / 2] }
    }

    /// Returns the time until the next tick; 0 if that is late.
    pub fn left(&self) -> u64 {
        let coarse = read(CLOCK_MONOTONIC_COARSE);
        let age = now().saturating_sub(coarse);
        (self.period_ns + self.age_ns).saturating_sub(age)
    }

    /// Returns the distance from the tick within which a hold of this length is in danger.
    fn danger(&self, hold_ns: u64) -> u64 {
        (hold_ns + hold_ns / 8 + MARGIN_NS).min(self.period_ns / 2)
    }

    /// Returns whether a hold of this length would straddle the tick.
    pub fn is_near(&self, hold_ns: u64) -> bool {
        self.left() < self.danger(hold_ns)
    }

    /// Waits without the lock until a tick is over that the hold would straddle; returns whether it had to.
    pub fn wait_out(&self, hold_ns: u64) -> bool {
        let until = now() + 2 * self.danger(hold_ns);
        let waits = self.is_near(hold_ns);
        while self.is_near(hold_ns) && now() < until {
            std::hint::spin_loop();
        }
        waits
    }

    /// Gives the CPU away first: the thread would be preempted at the tick anyway. If no other thread wants the CPU, the
    /// tick is still to come, and is waited out.
    pub fn yield_out(&self, hold_ns: u64) -> bool {
        let yields = self.is_near(hold_ns);
        if yields {
            std::thread::yield_now();
            self.wait_out(hold_ns);
        }
        yields
    }
}

/// A change of the coarse clock is seen at the tick if the thread read the clocks at most this long before: otherwise it
/// was preempted at the tick.
const SEEN_AT_ONCE_NS: u64 = 40_000;

/// Waits until the thread sees the coarse clock change, and returns its age then.
fn age_at_change() -> u64 {
    let (mut before, mut last) = (read(CLOCK_MONOTONIC_COARSE), now());
    loop {
        let (coarse, at) = (read(CLOCK_MONOTONIC_COARSE), now());
        if coarse != before && at - last < SEEN_AT_ONCE_NS {
            return at.saturating_sub(coarse);
        }
        (before, last) = (coarse, at);
    }
}

/// The hold time of a lock that nine in ten of its past holds did not exceed.
pub struct Learned(AtomicU64);

impl Learned {
    pub fn new() -> Self {
        Learned(AtomicU64::new(1_000))
    }

    pub fn ns(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Learns from one more hold. Holds that the tick made longer teach nothing.
    pub fn note(&self, hold_ns: u64) {
        let known = self.ns();
        let step = known / 16 + 16;
        let next = if hold_ns > known { known + step * 9 / 10 } else { known.saturating_sub(step / 10) };
        self.0.store(next, Relaxed);
    }
}
