//! A load of bursts on one CPU, in step with the kernel's tick, out of step with it, or without regard to it.

use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How a load's bursts lie to the tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// No tick falls into a burst.
    Avoids,
    /// Every tick falls into the middle of a burst.
    Hits,
    /// The period is no divisor of the tick's.
    Unaligned,
}

/// So long in every so long, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    pub burst_ns: u64,
    pub period_ns: u64,
    pub alignment: Alignment,
}

/// When a tick of the kernel was, on `CLOCK_MONOTONIC`, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Tick(u64);

impl Tick {
    /// Watches some ticks. The coarse clock stands still between them, so its value is the time of the last one; the
    /// earliest within the period is the one whose handler was held up least.
    pub fn find() -> Self {
        let period_ns = nanoseconds(clock_getres(ClockId::MonotonicCoarse));
        let mut seen: Vec<u64> = Vec::new();
        for _ in 0..25 {
            std::thread::sleep(std::time::Duration::from_nanos(period_ns));
            seen.push(nanoseconds(clock_gettime(ClockId::MonotonicCoarse)));
        }
        let first = seen[0];
        let late = |at: u64| (at + period_ns / 2 - first) % period_ns;
        Self(seen.into_iter().min_by_key(|&at| late(at)).unwrap_or(first))
    }
}

impl Pattern {
    /// When a burst may begin, on `CLOCK_MONOTONIC`.
    fn start_ns(&self, tick: Tick) -> u64 {
        match self.alignment {
            // The pause before the burst and the one after it are equally far from the tick.
            Alignment::Avoids => tick.0 + (self.period_ns - self.burst_ns) / 2,
            Alignment::Hits => tick.0 + self.period_ns - self.burst_ns / 2,
            Alignment::Unaligned => tick.0,
        }
    }

    /// Bursts on the calling thread until `stop`. Every burst ends when it should, however late it began; its CPU time so
    /// far, in nanoseconds, is kept in `used_ns`.
    pub fn run(&self, tick: Tick, stop: &AtomicBool, used_ns: &AtomicU64) {
        // Otherwise a sleep of one's own may be stretched by 50 µs.
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
