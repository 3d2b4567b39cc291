//! A load of bursts on one CPU, in step with the kernel's tick, out of step with it, or without regard to it.

use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The position of a load's bursts relative to the tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// No tick falls into a burst.
    Avoids,
    /// Every tick falls into the middle of a burst.
    Hits,
    /// The period does not divide the tick's.
    Unaligned,
}

/// A burst of some length in every period, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    pub burst_ns: u64,
    pub period_ns: u64,
    pub alignment: Alignment,
}

/// The time of a tick of the kernel, on `CLOCK_MONOTONIC`, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Tick(u64);

impl Tick {
    /// Watches the calling thread's CPU for a quarter of a second; pin the thread first. A loop that only reads the
    /// clock is held up by every tick, so the phase at which it is held up most often is the tick's. (Ticks of other
    /// CPUs may come at other times, and in a virtual machine all come later than they should.)
    pub fn find() -> Self {
        const BINS: u64 = 80;
        let period_ns = nanoseconds(clock_getres(ClockId::MonotonicCoarse));
        let mut held_up = [0_u32; BINS as usize];
        let began = nanoseconds(clock_gettime(ClockId::Monotonic));
        let mut last = began;
        while last < began + SECOND / 4 {
            let now = nanoseconds(clock_gettime(ClockId::Monotonic));
            if now - last > HELD_UP_NS {
                held_up[(last % period_ns * BINS / period_ns) as usize] += 1;
            }
            last = now;
        }
        let bin = (0..BINS).max_by_key(|&bin| held_up[bin as usize]).unwrap_or(0);
        Self(began - began % period_ns + (2 * bin + 1) * period_ns / (2 * BINS))
    }
}

/// Longer than reading the clock ever takes, shorter than any tick.
const HELD_UP_NS: u64 = 3_000;

impl Pattern {
    /// Returns the time when a burst may begin, on `CLOCK_MONOTONIC`.
    fn start_ns(&self, tick: Tick) -> u64 {
        match self.alignment {
            // The pause before the burst and the one after it are equally far from the tick.
            Alignment::Avoids => tick.0 + (self.period_ns - self.burst_ns) / 2,
            Alignment::Hits => tick.0 + self.period_ns - self.burst_ns / 2,
            Alignment::Unaligned => tick.0,
        }
    }

    /// Bursts on the calling thread until `stop`. Every burst ends when it should, however late it began; its CPU time
    /// so far, in nanoseconds, is kept in `used_ns`.
    pub fn run(&self, tick: Tick, stop: &AtomicBool, used_ns: &AtomicU64) {
        // Otherwise the kernel may stretch the sleeps of this thread by 50 µs.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut start = self.start_ns(tick);
        while !stop.load(Ordering::Relaxed) {
            let now = nanoseconds(clock_gettime(ClockId::Monotonic));
            if now > start {
                start += (now - start).div_ceil(self.period_ns) * self.period_ns;
            }
            let until = Timespec { tv_sec: (start / SECOND) as i64, tv_nsec: (start % SECOND) as i64 };
            let _ = clock_nanosleep_absolute(ClockId::Monotonic, &until);
            while nanoseconds(clock_gettime(ClockId::Monotonic)) < start + self.burst_ns {}
            used_ns.store(nanoseconds(clock_gettime(ClockId::ThreadCPUTime)), Ordering::Relaxed);
            start += self.period_ns;
        }
    }
}

const SECOND: u64 = 1_000_000_000;

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}
