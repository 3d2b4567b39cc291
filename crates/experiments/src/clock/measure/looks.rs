//! Probes around runs of slices: often enough for a neighbour of milliseconds, seldom enough to cost nothing.

use instruments::clock::Clock;
use instruments::neighbour::{Probe, Probed, Reading};
use std::time::Duration;

/// A neighbour comes and goes within so long.
const APART: Duration = Duration::from_micros(1500);

/// The last probe, and the runs since then.
pub struct Looks {
    clock: Clock,
    probe: Probe,
    last: Reading,
    last_at: u64,
    /// What was probed since the first of the runs that wait began.
    since: Option<Probed>,
    waiting: usize,
}

impl Looks {
    pub fn begin(clock: Clock, probe: Probe) -> Self {
        Self { clock, probe, last: probe.take(), last_at: clock.now(), since: None, waiting: 0 }
    }

    /// Within a run that is long.
    pub fn look(&mut self) {
        let now = self.probe.take();
        let probed = Probed::between(self.last, now);
        self.since = Some(self.since.map_or(probed, |since| since.with(probed)));
        (self.last, self.last_at) = (now, self.clock.now());
    }

    /// After a run: what is known of those that waited for it, if it is time for a probe.
    pub fn end_run(&mut self, told: &mut Vec<Probed>) {
        self.waiting += 1;
        if self.clock.now() - self.last_at >= self.clock.ticks_in(APART) {
            self.tell(told);
        }
    }

    /// A last probe for the runs that still wait.
    pub fn tell(&mut self, told: &mut Vec<Probed>) {
        if self.waiting > 0 {
            self.look();
            let probed = self.since.take();
            told.extend(probed.into_iter().cycle().take(self.waiting));
            self.waiting = 0;
        }
    }
}
