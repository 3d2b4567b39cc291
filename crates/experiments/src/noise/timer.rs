//! The choices of `--wake`: what the thread sleeps in, and under which scheduling policy it wakes.

use clap::ValueEnum;
use instruments::cpus::schedule::Schedule;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

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
    /// Returns whether the kernel may delay it by the thread's timer slack.
    pub fn has_slack(self) -> bool {
        self != Self::Timerfd
    }
}

/// A scheduling policy: `other`, `fifo:80`, `deadline`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Other,
    Fifo(u32),
    Deadline,
}

/// The runtime of a deadline thread in each interval, as a fraction of it: a wake-up takes a few µs.
const DEADLINE_PART: u32 = 5;

impl Policy {
    /// Returns the scheduler's parameters; `nice` is that of the process.
    pub fn schedule(self, nice: i32, interval: Duration) -> Schedule {
        match self {
            Self::Other => Schedule::Fair { nice, slice: None },
            Self::Fifo(priority) => Schedule::Fifo { priority },
            Self::Deadline => Schedule::Deadline { runtime: interval / DEADLINE_PART, period: interval },
        }
    }

    pub fn is_realtime(self) -> bool {
        self != Self::Other
    }
}

const ALLOWED: &str = "use other, fifo:N with N from 1 to 99, or deadline";

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "other" => Ok(Self::Other),
            None if text == "deadline" => Ok(Self::Deadline),
            None if text == "fifo" => Err("the priority is missing; write fifo:N with N from 1 to 99".into()),
            Some(("fifo", level)) => match level.parse() {
                Ok(priority @ 1..=99) => Ok(Self::Fifo(priority)),
                _ => Err(ALLOWED.into()),
            },
            _ => Err(ALLOWED.into()),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => formatter.write_str("other"),
            Self::Fifo(priority) => write!(formatter, "fifo:{priority}"),
            Self::Deadline => formatter.write_str("deadline"),
        }
    }
}
