//! A thread that sleeps until an instant, and again: its way to sleep, and its latency each time.

use crate::noise::timer::Timer;
use harness::Interruption;
use instruments::clock::Clock;
use instruments::cpus::current_cpu;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read};
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute, futex};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime, timerfd_create, timerfd_settime,
};
use std::io;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicU32;

/// One wake-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wake {
    /// The moment when the thread ran, in ticks.
    pub woke: u64,
    pub late_ns: u64,
    pub cpu: usize,
}

/// The wake-ups of one piece.
#[derive(Debug)]
pub struct Piece {
    pub wakes: Vec<Wake>,
    /// The begin and the end, in ticks.
    pub span: (u64, u64),
    /// The number of instants that had passed before the thread could sleep until them.
    pub skipped: u64,
    /// Whether the last wake-up exceeded the limit that ends the measurement.
    pub is_stopped: bool,
}

/// The limits of a piece.
pub struct Limit<'a> {
    /// The end in ticks.
    pub end: u64,
    pub stop_above_ns: u64,
    pub interruption: &'a Interruption,
}

/// A thread's way to sleep, and memory for its wake-ups.
pub struct Sleeper {
    clock: Clock,
    alarm: Alarm,
    interval_ns: u64,
    /// The CPU that the thread is pinned to; `None` if the kernel places it.
    cpu: Option<usize>,
    wakes: Vec<Wake>,
}

impl Sleeper {
    /// Reserves memory for this number of wake-ups per piece, and touches it, so that no page fault delays one.
    pub fn new(clock: Clock, alarm: Alarm, interval_ns: u64, cpu: Option<usize>, room: usize) -> Self {
        let mut wakes = vec![Wake { woke: 1, late_ns: 1, cpu: 1 }; room];
        wakes.clear();
        Self { clock, alarm, interval_ns, cpu, wakes }
    }

    /// Sleeps and wakes until the limit.
    ///
    /// It sleeps in every iteration: each instant is in the future when it is requested.
    pub fn sleep_through(&mut self, limit: &Limit<'_>) -> io::Result<Piece> {
        let Self { clock, alarm, interval_ns, cpu, wakes } = self;
        wakes.clear();
        let (start, mut skipped, mut is_stopped) = (clock.now(), 0, false);
        let mut due = monotonic_ns() + *interval_ns;
        while wakes.len() < wakes.capacity() && !limit.interruption.is_requested() {
            let left = limit.end.saturating_sub(clock.now());
            if clock.to_ns(left) < due.saturating_sub(monotonic_ns()) as f64 {
                break;
            }
            alarm.sleep_until(due)?;
            let now = monotonic_ns();
            let woke = clock.now();
            // A signal wakes it before the instant.
            if now < due {
                continue;
            }
            let late_ns = now - due;
            wakes.push(Wake { woke, late_ns, cpu: cpu.unwrap_or_else(current_cpu) });
            if late_ns > limit.stop_above_ns {
                is_stopped = true;
                break;
            }
            due += *interval_ns;
            let now = monotonic_ns();
            if due <= now {
                let passed = (now - due) / *interval_ns + 1;
                skipped += passed;
                due += passed * *interval_ns;
            }
        }
        Ok(Piece { wakes: wakes.clone(), span: (start, clock.now()), skipped, is_stopped })
    }
}

/// An open timer.
pub enum Alarm {
    ClockNanosleep,
    Timerfd(OwnedFd),
    Futex(AtomicU32),
}

impl Alarm {
    pub fn open(timer: Timer) -> io::Result<Self> {
        Ok(match timer {
            Timer::ClockNanosleep => Self::ClockNanosleep,
            Timer::Timerfd => Self::Timerfd(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?),
            Timer::Futex => Self::Futex(AtomicU32::new(0)),
        })
    }

    /// Sleeps until then, in nanoseconds of the monotonic clock, or until a signal arrives.
    pub fn sleep_until(&self, due_ns: u64) -> io::Result<()> {
        let due = Timespec { tv_sec: (due_ns / NS) as i64, tv_nsec: (due_ns % NS) as _ };
        let slept = match self {
            Self::ClockNanosleep => clock_nanosleep_absolute(ClockId::Monotonic, &due),
            Self::Timerfd(timer) => {
                let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: due };
                timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once)
                    .and_then(|_| read(timer, &mut [0; 8]).map(|_| ()))
            }
            Self::Futex(word) => futex::wait_bitset(word, futex::Flags::PRIVATE, 0, Some(&due), NonZeroU32::MAX),
        };
        match slept {
            // TIMEDOUT is the result of a futex whose time has come.
            Ok(()) | Err(Errno::TIMEDOUT | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

const NS: u64 = 1_000_000_000;

/// Returns the monotonic clock, in nanoseconds.
fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NS + now.tv_nsec as u64
}

/// Returns the timer slack of the calling thread; 50 µs by default.
pub fn slack_ns() -> u64 {
    // SAFETY: this call takes no pointer, and only returns a number.
    let slack = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    u64::try_from(slack).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn thread_does_not_wake_before_the_instant() {
        for timer in Timer::value_variants() {
            let alarm = Alarm::open(*timer).unwrap();
            for _ in 0..3 {
                let due = monotonic_ns() + 300_000;
                alarm.sleep_until(due).unwrap();
                assert!(monotonic_ns() >= due, "{timer:?}");
            }
        }
    }
}
