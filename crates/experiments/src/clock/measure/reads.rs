//! Reads of the clock over the whole run, so that they are told apart by who was on the core.

use harness::Lookout;
use instruments::clock::{Clock, ordered_read_cost_ns, read_cost_ns};
use instruments::neighbour::{Probe, Probed, Split};
use instruments::statistics::Thinned;

/// Thousands of reads, each with the probes around it.
#[derive(Default)]
pub struct Reads {
    /// Plain and ordered, in nanoseconds.
    thousands: Thinned<([f64; 2], Probed)>,
}

impl Reads {
    /// One more thousand of each kind, some thirty microseconds; nothing where nobody looks.
    pub fn take(&mut self, clock: Clock, probe: Option<Probe>) -> Option<Probed> {
        let probe = probe?;
        let before = probe.take();
        let costs = [read_cost_ns(clock), ordered_read_cost_ns(clock)];
        let probed = Probed::between(before, probe.take());
        self.thousands.push((costs, probed));
        Some(probed)
    }

    pub fn plain(&self, lookout: &Lookout) -> Split {
        self.split(0, lookout)
    }

    pub fn ordered(&self, lookout: &Lookout) -> Split {
        self.split(1, lookout)
    }

    fn split(&self, kind: usize, lookout: &Lookout) -> Split {
        lookout.split(self.thousands.iter().map(|(costs, probed)| (costs[kind], std::slice::from_ref(probed))))
    }
}
