//! Alignment of two machines' clocks by exchanged timestamps.
//!
//! Cristian, "Probabilistic clock synchronization" (1989): a process that requests the time and receives the answer
//! after a round trip knows that the other clock was read in between. The middle is off by at most half the round trip,
//! however unequal the two ways were. So the shortest of many round trips is the most precise, and its half is the
//! stated error. Two such meetings, one before and one after the measurement, give the line between: clocks drift by
//! some millionths, and over minutes the rate hardly changes.

use serde::{Deserialize, Serialize};

/// A request and its answer: the times of both by the reference's clock, and the reading of the other clock in between,
/// in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// The time of the request, by the reference's clock.
    pub asked_ns: f64,
    /// The reading of the other clock.
    pub there_ns: f64,
    /// The time at which the answer arrived, by the reference's clock.
    pub answered_ns: f64,
}

/// The result of many exchanges at about the same time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meeting {
    /// The time of the meeting, by the other clock.
    pub there_ns: f64,
    /// The offset to add to the other clock for the reference's time.
    pub offset_ns: f64,
    /// The maximum error of the offset.
    pub error_ns: f64,
}

impl Meeting {
    /// Uses the exchange with the shortest round trip; `None` without any.
    pub fn of(exchanges: &[Exchange]) -> Option<Self> {
        let trip = |exchange: &Exchange| exchange.answered_ns - exchange.asked_ns;
        let best = exchanges.iter().min_by(|a, b| trip(a).total_cmp(&trip(b)))?;
        Some(Self {
            there_ns: best.there_ns,
            offset_ns: best.asked_ns + trip(best) / 2.0 - best.there_ns,
            error_ns: trip(best) / 2.0,
        })
    }

    /// Returns the meeting of the reference with itself.
    pub fn own(now_ns: f64) -> Self {
        Self { there_ns: now_ns, offset_ns: 0.0, error_ns: 0.0 }
    }
}

/// The relation of a clock to the reference's, between two meetings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alignment {
    before: Meeting,
    after: Meeting,
}

impl Alignment {
    /// Returns the line through two meetings, the earlier one first.
    pub fn through(before: Meeting, after: Meeting) -> Self {
        Self { before, after }
    }

    /// Converts a time of the other clock to the reference's.
    pub fn reference_ns(&self, there_ns: f64) -> f64 {
        there_ns + self.before.offset_ns + self.drift() * (there_ns - self.before.there_ns)
    }

    /// Returns the rate at which the reference gains on the other clock: nanoseconds per nanosecond.
    pub fn drift(&self) -> f64 {
        let span_ns = self.after.there_ns - self.before.there_ns;
        if span_ns > 0.0 { (self.after.offset_ns - self.before.offset_ns) / span_ns } else { 0.0 }
    }

    /// Returns the maximum error of a moment between the two meetings: a line through two points is between its ends as
    /// near to the truth as the worse of them.
    pub fn error_ns(&self) -> f64 {
        self.before.error_ns.max(self.after.error_ns)
    }
}
