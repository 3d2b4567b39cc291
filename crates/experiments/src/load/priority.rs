//! The priority at which a soaker asks for the CPU, as it is written on the command line.

use instruments::cpus::schedule::Schedule;
use std::fmt;
use std::str::FromStr;

/// `idle`, `batch`, a nice value, `fifo`, `rr`, or the last two with a priority: `fifo:10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority(pub Schedule);

impl Priority {
    /// When nobody else wants the CPU.
    pub const IDLE: Self = Self(Schedule::Idle);

    /// Whether it is a real-time priority.
    pub fn is_realtime(self) -> bool {
        matches!(self.0, Schedule::Fifo { .. } | Schedule::RoundRobin { .. })
    }
}

const ALLOWED: &str =
    "allowed: idle, batch, a nice value from -20 to 19, fifo, rr, and fifo:N or rr:N with N from 1 to 99";

impl FromStr for Priority {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
        let realtime = || match level.map(str::parse) {
            None => Ok(1),
            Some(Ok(priority @ 1..=99)) => Ok(priority),
            Some(_) => Err(ALLOWED.to_owned()),
        };
        let schedule = match (name, level) {
            ("idle", None) => Schedule::Idle,
            ("batch", None) => Schedule::Batch { nice: 0 },
            ("fifo", _) => Schedule::Fifo { priority: realtime()? },
            ("rr", _) => Schedule::RoundRobin { priority: realtime()? },
            _ => match text.parse() {
                Ok(nice @ -20..=19) => Schedule::Fair { nice, slice: None },
                _ => return Err(ALLOWED.to_owned()),
            },
        };
        Ok(Self(schedule))
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Schedule::Fair { nice, .. } => write!(formatter, "nice {nice}"),
            Schedule::Batch { .. } => formatter.write_str("batch"),
            Schedule::Idle => formatter.write_str("idle"),
            Schedule::Fifo { priority } => write!(formatter, "fifo:{priority}"),
            Schedule::RoundRobin { priority } => write!(formatter, "rr:{priority}"),
            Schedule::Deadline { .. } => formatter.write_str("deadline"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_words_and_nice_values() {
        let is = |text: &str, schedule| assert_eq!(text.parse(), Ok(Priority(schedule)), "{text}");
        is("idle", Schedule::Idle);
        is("batch", Schedule::Batch { nice: 0 });
        is("-12", Schedule::Fair { nice: -12, slice: None });
        is("fifo", Schedule::Fifo { priority: 1 });
        is("rr:50", Schedule::RoundRobin { priority: 50 });
    }

    #[test]
    fn what_is_out_of_range_is_refused_with_what_is_allowed() {
        for text in ["20", "-21", "fifo:0", "fifo:100", "rr:", "idle:3", "deadline", "", "nice"] {
            assert!(text.parse::<Priority>().unwrap_err().contains("-20 to 19"), "{text}");
        }
    }
}
