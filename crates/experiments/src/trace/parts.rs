//! Parts of a long trace: with `--every`, each period has a record, which covers that period alone.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The place of a record in a longer trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// Its number; the first is 1.
    pub number: u32,
    /// Its begin, from the begin of the trace on.
    pub began_s: f64,
    /// The period of `--every`.
    pub period_s: f64,
    /// Whether the trace ended before the period was over.
    pub is_partial: bool,
}

/// The parts of a trace, of which one is being recorded.
pub struct Parts {
    period: Option<Duration>,
    trace_began: Instant,
    began: Instant,
    number: u32,
}

impl Parts {
    /// Begins the first part. Without a period, it is the whole trace.
    pub fn begin(period: Option<Duration>) -> Self {
        let now = Instant::now();
        Self { period, trace_began: now, began: now, number: 1 }
    }

    /// Returns whether the part is over.
    pub fn is_over(&self, now: Instant) -> bool {
        self.period.is_some_and(|period| now - self.began >= period)
    }

    /// Returns how long the part has lasted.
    pub fn elapsed_s(&self, now: Instant) -> f64 {
        (now - self.began).as_secs_f64()
    }

    /// Begins the next part.
    pub fn begin_next(&mut self, now: Instant) {
        self.began = now;
        self.number += 1;
    }

    /// Returns whether there was a part before.
    pub fn has_earlier(&self) -> bool {
        self.number > 1
    }

    /// Returns the place of the part in the trace; `None` if it is the whole trace.
    pub fn place(&self, now: Instant) -> Option<Part> {
        self.period.map(|period| Part {
            number: self.number,
            began_s: (self.began - self.trace_began).as_secs_f64(),
            period_s: period.as_secs_f64(),
            is_partial: !self.is_over(now),
        })
    }
}
