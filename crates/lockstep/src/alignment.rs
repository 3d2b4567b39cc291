//! Two machines' clocks, laid on each other by exchanged timestamps.
//!
//! Cristian, "Probabilistic clock synchronization" (1989): whoever asks for the time and has the answer after a round
//! trip knows that the other clock was read in between. The middle is off by half the round trip at most, however
//! unequal the two ways were; so the shortest round trip of many tells most, and its half is the error that is stated.
//! Two such meetings, one before and one after what is measured, give the line between: clocks drift against each other
//! by some millionths, and over minutes the rate hardly changes.

use serde::{Deserialize, Serialize};

/// A question and its answer: when it was asked and answered by the reference's clock, and what the other clock said
/// meanwhile, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// When it was asked, by the reference.
    pub asked_ns: f64,
    /// The other's clock.
    pub there_ns: f64,
    /// When the answer was there, by the reference.
    pub answered_ns: f64,
}

/// What many exchanges at about the same time tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meeting {
    /// When it was, by the other's clock.
    pub there_ns: f64,
    /// What is to be added to the other's clock for the reference's.
    pub offset_ns: f64,
    /// By how much that may be off.
    pub error_ns: f64,
}

impl Meeting {
    /// From the exchange with the shortest round trip; `None` without any.
    pub fn of(exchanges: &[Exchange]) -> Option<Self> {
        let trip = |exchange: &Exchange| exchange.answered_ns - exchange.asked_ns;
        let best = exchanges.iter().min_by(|a, b| trip(a).total_cmp(&trip(b)))?;
        Some(Self {
            there_ns: best.there_ns,
            offset_ns: best.asked_ns + trip(best) / 2.0 - best.there_ns,
            error_ns: trip(best) / 2.0,
        })
    }

    /// Of the reference with itself.
    pub fn own(now_ns: f64) -> Self {
        Self { there_ns: now_ns, offset_ns: 0.0, error_ns: 0.0 }
    }
}

/// A clock on the reference's, between two meetings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alignment {
    before: Meeting,
    after: Meeting,
}

impl Alignment {
    /// The line through two meetings, the earlier one first.
    pub fn through(before: Meeting, after: Meeting) -> Self {
        Self { before, after }
    }

    /// The reference's clock when the other said so.
    pub fn reference_ns(&self, there_ns: f64) -> f64 {
        there_ns + self.before.offset_ns + self.drift() * (there_ns - self.before.there_ns)
    }

    /// How fast the reference gains on the other clock: nanoseconds a nanosecond.
    pub fn drift(&self) -> f64 {
        let span_ns = self.after.there_ns - self.before.there_ns;
        if span_ns > 0.0 { (self.after.offset_ns - self.before.offset_ns) / span_ns } else { 0.0 }
    }

    /// By how much a moment between the two meetings may be off: a line through two points lies between its ends as
    /// near to the truth as the worse of them.
    pub fn error_ns(&self) -> f64 {
        self.before.error_ns.max(self.after.error_ns)
    }
}
