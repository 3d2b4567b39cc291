//! What a thread can sleep in until an instant.

use clap::ValueEnum;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read};
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute, futex};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime, timerfd_create, timerfd_settime,
};
use serde::{Deserialize, Serialize};
use std::io;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicU32;

/// The ways to sleep until an instant of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// the system call that sleeps until an instant, as in cyclictest
    ClockNanosleep,
    /// a read from the file descriptor of a timer
    Timerfd,
    /// a futex wait with a timeout, as in a lock with a timeout; no thread wakes it
    Futex,
}

impl Timer {
    /// Whether the kernel lets it be late by the thread's timer slack.
    pub fn has_slack(self) -> bool {
        self != Self::Timerfd
    }
}

/// One of them, opened.
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

    /// Sleeps until then, in nanoseconds of the monotonic clock, or until a signal comes.
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
            // The first is how a futex says that the time has come.
            Ok(()) | Err(Errno::TIMEDOUT | Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

const NS: u64 = 1_000_000_000;

/// The monotonic clock, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * NS + now.tv_nsec as u64
}

/// By how much the kernel may let a timer of the calling thread be late; 50 µs by default.
pub fn slack_ns() -> u64 {
    // SAFETY: this call takes no pointer, and only returns a number.
    let slack = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    u64::try_from(slack).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_wakes_before_the_instant() {
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
