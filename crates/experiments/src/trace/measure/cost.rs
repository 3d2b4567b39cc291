//! The cost of recording, estimated while the program runs. Where it is too high, single waits are recorded only part of
//! the time.

use crate::trace::plan::Lowered;
use std::time::Duration;

/// Sums since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    pub at_s: f64,
    /// CPU time of the program, and of contend.
    pub program_s: f64,
    pub own_s: f64,
    /// Time that the library took in the program: calls, and noted waits, times the measured cost of each.
    pub library_s: f64,
}

/// The amount of recording.
#[derive(Debug, Default)]
pub struct Recording {
    step: usize,
    before: Sums,
    /// Successive periods in which the cost was too high.
    high: u32,
    pub lowered: Vec<Lowered>,
}

/// Parts of the time in which single waits are recorded.
const STEPS: [f64; 3] = [1.0, 0.25, 0.0625];
/// Length of a stretch of recording.
const STRETCH_S: f64 = 0.1;
/// Period at which the cost is estimated.
pub const PERIOD: Duration = Duration::from_millis(500);
/// Part of the CPU time that recording may cost.
const MOST: f64 = 0.05;
/// Successive periods after which the recording is lowered: a single one may be an accident.
const PERIODS: u32 = 2;
/// Less CPU time of the program in a period says little.
const LEAST_S: f64 = 0.02;

impl Recording {
    /// Restarts the comparison from these sums: those of the program start from 0 with each part of a trace.
    pub fn rebase(&mut self, now: Sums) {
        self.before = now;
    }

    /// Compares the sums with those before, and lowers the recording if it costs too much.
    pub fn look(&mut self, now: Sums, cpus: usize) {
        let before = std::mem::replace(&mut self.before, now);
        let (span_s, program_s) = (now.at_s - before.at_s, now.program_s - before.program_s);
        if span_s <= 0.0 || program_s < LEAST_S {
            self.high = 0;
            return;
        }
        // The library runs in the program's threads; contend takes CPUs from them.
        let in_program = (now.library_s - before.library_s) / program_s;
        let cost_share = in_program + (now.own_s - before.own_s) / (span_s * cpus.max(1) as f64);
        self.high = if cost_share > MOST { self.high + 1 } else { 0 };
        if self.high >= PERIODS && self.step + 1 < STEPS.len() {
            let (from_share, to_share) = (STEPS[self.step], STEPS[self.step + 1]);
            self.lowered.push(Lowered { at_s: now.at_s, from_share, to_share, cost_share });
            (self.step, self.high) = (self.step + 1, 0);
        }
    }

    /// Returns whether single waits are recorded at this time.
    pub fn is_on(&self, at_s: f64) -> bool {
        at_s % (STRETCH_S / STEPS[self.step]) < STRETCH_S
    }

    /// Returns the factor by which pauses between samples of the threads' states are longer.
    pub fn pause_factor(&self) -> u32 {
        1 << self.step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Periods of half a second, each with these CPU times of the program, of contend, and of the library.
    fn after(periods: &[[f64; 3]]) -> Recording {
        let (mut recording, mut sums) = (Recording::default(), Sums::default());
        for [program_s, own_s, library_s] in periods {
            sums.at_s += 0.5;
            sums.program_s += program_s;
            sums.own_s += own_s;
            sums.library_s += library_s;
            recording.look(sums, 2);
        }
        recording
    }

    #[test]
    fn recording_is_lowered_after_two_expensive_periods() {
        let (cheap, expensive) = ([1.0, 0.01, 0.01], [1.0, 0.08, 0.02]);
        assert!(after(&[cheap; 8]).lowered.is_empty());
        assert!(after(&[expensive, cheap, expensive, cheap]).lowered.is_empty());
        let lowered = after(&[cheap, expensive, expensive]).lowered;
        let [Lowered { at_s, from_share, to_share, cost_share }] = lowered[..] else { panic!("{lowered:?}") };
        assert_eq!((at_s, from_share, to_share), (1.5, 1.0, 0.25));
        assert!((cost_share - 0.1).abs() < 1e-9, "{cost_share}");
        assert_eq!(after(&[expensive; 20]).lowered.len(), 2);
        // An idle program loses nothing.
        assert!(after(&[[0.001, 0.2, 0.0]; 8]).lowered.is_empty());
    }

    #[test]
    fn waits_are_recorded_for_the_share_of_the_time() {
        let share = |recording: &Recording| {
            let times = (0..16_000).map(|place| f64::from(place) * 1e-3);
            times.filter(|at_s| recording.is_on(*at_s)).count() as f64 / 16_000.0
        };
        let expensive = [1.0, 0.2, 0.0];
        for (periods, expected) in [(0, 1.0), (2, 0.25), (4, 0.0625)] {
            let found = share(&after(&vec![expensive; periods]));
            assert!((found - expected).abs() < 0.01, "{periods}: {found}");
        }
    }
}
