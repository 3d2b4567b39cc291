//! SMT interference on the cores that an experiment measures on.

use crate::session::{Neighbour, Session};
use instruments::clock::Clock;
use instruments::neighbour::{CoreWidth, Probe, Probed, Sharing, Split, Taken, Uncertainty, Widths, WidthsOverTime};
use instruments::team::on_cpu;
use instruments::warning::{NeverAlone, Warning};

/// A probe of the SMT sibling, and the width of each core that it has learned so far.
#[derive(Default)]
pub struct SmtMonitor {
    /// `None` where the user did not request it, or it is not possible.
    pub probe: Option<Probe>,
    core_width: CoreWidth,
    /// The number of times that a core was wider than known until then.
    widenings: u32,
}

impl SmtMonitor {
    /// Calibrates the probe on the first of the session's CPUs, for a few milliseconds.
    pub fn open(session: &Session, clock: Clock) -> Self {
        let wanted = session.cpus.first().filter(|_| session.neighbour == Neighbour::Both);
        // If the CPU may not be used after all, the measurement there reports it.
        let probe = wanted.and_then(|cpu| on_cpu(cpu, || Probe::calibrate(clock)).ok().flatten());
        Self { probe, core_width: CoreWidth::default(), widenings: 0 }
    }

    /// Learns from probes.
    pub fn learn<'a>(&mut self, probes: impl IntoIterator<Item = &'a Probed>) {
        for probed in probes {
            self.widenings += u32::from(self.core_width.learn(probed));
        }
    }

    /// Learns from many readings on one CPU.
    pub fn learn_widths(&mut self, cpu: usize, widths: &Widths) {
        self.core_width.learn_widths(cpu as u16, widths);
    }

    /// Returns the part of a CPU's core that an SMT sibling used; `None` where too few probes know its width.
    pub fn taken(&self, cpu: usize, seen: &WidthsOverTime) -> Option<Taken> {
        let knows_little =
            |(of, doubt): (u16, Uncertainty)| usize::from(of) == cpu && matches!(doubt, Uncertainty::FewProbes(_));
        self.core_width.taken(cpu as u16, seen).filter(|_| !self.core_width.doubts().any(knows_little))
    }

    /// Returns whether earlier windows must be classified again: a wider core was seen since `reported_at`, which is
    /// updated.
    pub fn is_wider_since(&self, reported_at: &mut u32) -> bool {
        std::mem::replace(reported_at, self.widenings) != self.widenings
    }

    /// Returns whether the cores of a window were exclusive.
    pub fn sharing(&self, probes: &[Probed]) -> Sharing {
        self.core_width.sharing(probes)
    }

    /// Returns the values with the core exclusive and with it shared.
    pub fn split<'a>(&self, values: impl IntoIterator<Item = (f64, &'a [Probed])>) -> Split {
        Split::of(values.into_iter().map(|(value, probes)| (value, self.sharing(probes))))
    }

    /// Returns the same split for repetitions, each with values that depend on each other.
    pub fn split_turns(&self, turns: &[Vec<(f64, Probed)>]) -> Split {
        let classified = |(value, probed): &(f64, Probed)| (*value, self.sharing(&[*probed]));
        Split::of_turns(turns.iter().map(|turn| turn.iter().map(classified)))
    }

    /// Returns warnings about CPUs that may never have been exclusive.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> + '_ {
        let doubts = self.core_width.doubts().filter(|(_, doubt)| !matches!(doubt, Uncertainty::FewProbes(_)));
        doubts.map(|(cpu, doubt)| NeverAlone { cpu, reason: doubt.to_string() }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::neighbour::Reading;

    #[test]
    fn wider_core_is_reported_once_to_each_earlier_classification() {
        let at = |cycles| Probed::at(Reading { cpu: 0, cycles, cycles_per_ns: 3.0 });
        let (mut monitor, mut one, mut other) = (SmtMonitor::default(), 0, 0);
        (0..50).for_each(|_| monitor.learn([&at(5.0)]));
        assert!(!monitor.is_wider_since(&mut one));
        (0..50).for_each(|_| monitor.learn([&at(3.0)]));
        assert!(monitor.is_wider_since(&mut one) && monitor.is_wider_since(&mut other));
        assert!(!monitor.is_wider_since(&mut one));
    }
}
