//! How the scheduler ranks the thread that sleeps.

use instruments::cpus::schedule::Schedule;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// `other`, `fifo:80`, `deadline`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Other,
    Fifo(u32),
    Deadline,
}

/// What a deadline thread may run for in each interval, in parts of it: a wake-up takes a few µs.
const DEADLINE_PART: u32 = 5;

impl Policy {
    /// The scheduler's parameters; `nice` is that of the process.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_written_as_they_are_read() {
        for text in ["other", "fifo:1", "fifo:80", "deadline"] {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
        for wrong in ["", "fifo", "fifo:0", "fifo:100", "rr:1", "other:1"] {
            assert!(wrong.parse::<Policy>().unwrap_err().contains("fifo:N"), "{wrong}");
        }
    }
}
