//! The program's ticks on the kernel's clock, on which its record of switches is.

use instruments::clock::{Anchor, Clock};
use std::time::{Duration, Instant};

/// Both clocks, from the start on. All times are in ns since then.
pub struct Time {
    clock: Clock,
    first: Anchor,
    last: Anchor,
    taken: Instant,
}

/// Period at which the clocks are compared again.
const PERIOD: Duration = Duration::from_millis(200);

/// Conversion of counts of ticks into times.
pub trait Ticks {
    fn span_ns(&self, ticks: u64) -> f64;
}

/// Ticks that are ns.
pub struct Nanoseconds;

impl Ticks for Nanoseconds {
    fn span_ns(&self, ticks: u64) -> f64 {
        ticks as f64
    }
}

impl Ticks for Time {
    fn span_ns(&self, ticks: u64) -> f64 {
        self.clock.to_ns(ticks)
    }
}

impl Time {
    pub fn begin(clock: Clock) -> Self {
        let first = Anchor::take(clock.source());
        Self { clock, first, last: first, taken: Instant::now() }
    }

    /// Returns the start on the kernel's clock.
    pub fn began_raw_ns(&self) -> u64 {
        self.first.raw_ns
    }

    /// Holds the clocks against each other, if it is time.
    pub fn renew(&mut self) {
        if self.taken.elapsed() >= PERIOD {
            self.last = Anchor::take(self.clock.source());
            self.taken = Instant::now();
        }
    }

    /// Ticks of the program.
    pub fn of_ticks(&self, ticks: u64) -> f64 {
        let ns_per_tick = match self.last.ticks - self.first.ticks {
            0 => self.clock.ns_per_tick(),
            span => (self.last.raw_ns - self.first.raw_ns) as f64 / span as f64,
        };
        let since = ticks.wrapping_sub(self.last.ticks) as i64 as f64 * ns_per_tick;
        self.of_raw(self.last.raw_ns) + since
    }

    /// Returns a time of the kernel's record.
    pub fn of_raw(&self, raw_ns: u64) -> f64 {
        raw_ns.wrapping_sub(self.first.raw_ns) as i64 as f64
    }

    pub fn now(&self) -> f64 {
        self.of_ticks(self.clock.now())
    }
}
