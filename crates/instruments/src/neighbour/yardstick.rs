//! How wide each core gets, learned from probes.

use super::loops::WIDTH_INSTRUCTIONS;
use super::probed::{Probed, Sharing};
use std::fmt;

/// The best that was often seen on each CPU, by which stretches are told apart.
///
/// Alone on its core, a loop of width takes the same to a percent; beside a neighbour a third more at least, and no
/// two moments are alike. So the best is the middle of the lowest crowd of readings, and the limits lie well within the
/// empty space above it: up to 6 % more is alone, from 20 % more on it is shared.
#[derive(Clone, Debug, Default)]
pub struct Yardstick {
    cpus: Vec<Counts>,
}

/// Why the core may never have been seen alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// Too few probes.
    FewProbes(u64),
    /// The best that was seen is not one value but many: a neighbour was always there, and did this and that.
    NoCrowd,
    /// Its best is fewer instructions a cycle than cores with two hardware threads issue alone.
    Narrow(f64),
}

impl fmt::Display for Doubt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewProbes(count) => write!(formatter, "there were only {count} probes"),
            Self::NoCrowd => write!(formatter, "even the best probes differ from each other"),
            Self::Narrow(ipc) => {
                write!(formatter, "the best was {ipc:.1} instructions a cycle, less than such a core issues alone")
            }
        }
    }
}

/// Readings in logarithmic bins.
#[derive(Clone, Debug)]
struct Counts {
    bins: Vec<u32>,
    all: u64,
    least: f64,
    /// As of the last look.
    best: Option<f64>,
}

/// From half a cycle to 256, in steps of half a percent.
const FIRST: f64 = 0.5;
const STEP: f64 = 1.005;
const BINS: usize = 1252;
/// The crowd of the core alone fits into so many bins, and begins within so many of the lowest that is one.
const CROWD_BINS: usize = 6;
const CROWD_WITHIN: usize = 12;
/// A crowd has so many readings, and that share of all.
const CROWD: u64 = 5;
const CROWD_SHARE: f64 = 0.005;
const ALONE_UP_TO: f64 = 1.06;
const SHARED_FROM: f64 = 1.2;
/// The best is looked for at each of so many readings, and then at every so many.
const OFTEN_UNTIL: u64 = 100;
const THEN_EVERY: u64 = 32;
/// Fewer probes on a CPU say nothing.
const FEWEST: u64 = 20;
/// Of the readings that are near the best, so many are at the very best if it is the core alone: a neighbour's moods
/// fill the space evenly.
const CROWDED_SHARE: f64 = 0.7;
const CROWDED: f64 = 1.02;
/// The narrowest cores of x86-64 that have two hardware threads issue four instructions a cycle.
const NARROWEST: f64 = 3.8;

impl Yardstick {
    /// Takes note of what probes said. Whether that is a new best on its CPU, by so much that what was told apart
    /// before has to be told apart again.
    pub fn learn(&mut self, probed: &Probed) -> bool {
        let cpu = usize::from(probed.cpu);
        if self.cpus.len() <= cpu {
            self.cpus.resize_with(cpu + 1, Counts::default);
        }
        let counts = &mut self.cpus[cpu];
        let before = counts.best;
        counts.add(probed.least.into());
        if probed.most.is_finite() {
            counts.add(probed.most.into());
        }
        matches!((before, counts.best), (Some(before), Some(best)) if best * ALONE_UP_TO < before)
    }

    /// What the loop of width takes on a CPU alone, in cycles a round; `None` where it was not probed.
    pub fn best(&self, cpu: u16) -> Option<f64> {
        self.cpus.get(usize::from(cpu))?.best
    }

    /// Whether a stretch had its cores for itself; one that ran on several CPUs had so only if all were its own, and is
    /// shared if one of them was, as long as each is one or the other.
    pub fn sharing(&self, probes: &[Probed]) -> Sharing {
        let each = probes.iter().map(|probed| self.sharing_of(probed));
        each.reduce(|one, other| match (one, other) {
            (Sharing::Neither, _) | (_, Sharing::Neither) => Sharing::Neither,
            (Sharing::Shared, _) | (_, Sharing::Shared) => Sharing::Shared,
            (Sharing::Alone, Sharing::Alone) => Sharing::Alone,
        })
        .unwrap_or(Sharing::Neither)
    }

    fn sharing_of(&self, probed: &Probed) -> Sharing {
        let Some(best) = self.best(probed.cpu) else { return Sharing::Neither };
        if f64::from(probed.most) <= best * ALONE_UP_TO {
            Sharing::Alone
        } else if f64::from(probed.least) >= best * SHARED_FROM && probed.most.is_finite() {
            Sharing::Shared
        } else {
            Sharing::Neither
        }
    }

    /// Why a CPU's best may not be that of the core alone, if there is a reason.
    pub fn doubt(&self, cpu: u16) -> Option<Doubt> {
        let Some(counts) = self.cpus.get(usize::from(cpu)).filter(|counts| counts.all >= FEWEST) else {
            return Some(Doubt::FewProbes(self.cpus.get(usize::from(cpu)).map_or(0, |counts| counts.all)));
        };
        let best = counts.best?;
        let ipc = WIDTH_INSTRUCTIONS / best;
        if cfg!(target_arch = "x86_64") && ipc < NARROWEST {
            return Some(Doubt::Narrow(ipc));
        }
        let (crowd, near) =
            (counts.between(best / CROWDED, best * CROWDED), counts.between(best / SHARED_FROM, best * SHARED_FROM));
        ((crowd as f64) < CROWDED_SHARE * near as f64).then_some(Doubt::NoCrowd)
    }

    /// The doubts of all CPUs that were probed.
    pub fn doubts(&self) -> impl Iterator<Item = (u16, Doubt)> + '_ {
        let probed = (0..self.cpus.len() as u16).filter(|&cpu| self.cpus[usize::from(cpu)].all > 0);
        probed.filter_map(|cpu| Some((cpu, self.doubt(cpu)?)))
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self { bins: vec![0; BINS], all: 0, least: f64::INFINITY, best: None }
    }
}

impl Counts {
    fn add(&mut self, cycles: f64) {
        if cycles.is_finite() && cycles > 0.0 {
            self.bins[bin(cycles)] += 1;
            self.all += 1;
            self.least = self.least.min(cycles);
            // Looking takes some microseconds, and many readings change little.
            if self.all < OFTEN_UNTIL || self.all.is_multiple_of(THEN_EVERY) {
                self.best = self.lowest_crowd();
            }
        }
    }

    /// The middle of the lowest crowd; the least of all where there are too few for a crowd. A reading can be too low,
    /// if the frequency changed between its two loops, so the lowest are not yet the crowd.
    fn lowest_crowd(&self) -> Option<f64> {
        let enough = CROWD.max((self.all as f64 * CROWD_SHARE) as u64);
        let Some(from) = self.windows().position(|count| count >= enough) else {
            return Some(self.least).filter(|least| least.is_finite());
        };
        let most = self.windows().skip(from).take(CROWD_WITHIN).max()?;
        let first = from + self.windows().skip(from).position(|count| count == most)?;
        let bins = self.bins[first..first + CROWD_BINS].iter().zip(first..);
        let sum: f64 = bins.map(|(&count, bin)| f64::from(count) * bin as f64).sum();
        Some(FIRST * STEP.powf(sum / most as f64))
    }

    /// The readings in each of the overlapping places for a crowd.
    fn windows(&self) -> impl Iterator<Item = u64> + '_ {
        self.bins.windows(CROWD_BINS).map(|window| window.iter().map(|&count| u64::from(count)).sum())
    }

    fn between(&self, low: f64, high: f64) -> u64 {
        self.bins[bin(low)..=bin(high)].iter().map(|&count| u64::from(count)).sum()
    }
}

fn bin(cycles: f64) -> usize {
    // A bin holds what rounds to it, so that its lower end, times a little, is in it again.
    ((cycles / FIRST).ln() / STEP.ln()).round().clamp(0.0, (BINS - 1) as f64) as usize
}
