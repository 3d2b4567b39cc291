//! How wide each core gets, learned from probes.

use super::loops::WIDTH_INSTRUCTIONS;
use super::over_time::WidthsOverTime;
use super::probed::{Probed, Sharing};
use super::widths::{ALONE_UP_TO, SHARED_FROM, Taken, Widths};
use std::fmt;

/// The best that was often seen on each CPU, by which stretches are told apart.
///
/// Alone on its core, a loop of width takes the same to a percent; beside a neighbour a third more at least, and no
/// two moments are alike. So the best is the middle of the lowest crowd of readings, and the limits lie well within the
/// empty space above it: up to 6 % more is alone, from 20 % more on it is shared.
#[derive(Clone, Debug, Default)]
pub struct Yardstick {
    cpus: Vec<Known>,
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
            Self::FewProbes(count) => write!(formatter, "only {count} probes were taken"),
            Self::NoCrowd => write!(formatter, "even the fastest probes differ from each other"),
            Self::Narrow(ipc) => {
                write!(
                    formatter,
                    "the fastest ran at {ipc:.1} instructions per cycle, fewer than an exclusive core issues"
                )
            }
        }
    }
}

/// What is known of a CPU.
#[derive(Clone, Debug, Default)]
struct Known {
    widths: Widths,
    /// As of the last look.
    best: Option<f64>,
}

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
        // Of who moved, nobody knows on which CPU the least was.
        if probed.most.is_infinite() {
            return false;
        }
        let known = self.known(probed.cpu);
        let before = known.best;
        known.add(probed.least);
        known.add(probed.most);
        matches!((before, known.best), (Some(before), Some(best)) if best * ALONE_UP_TO < before)
    }

    /// The same of many readings on one CPU at once.
    pub fn learn_widths(&mut self, cpu: u16, widths: &Widths) {
        let known = self.known(cpu);
        known.widths.absorb(widths);
        known.best = known.widths.lowest_crowd();
    }

    fn known(&mut self, cpu: u16) -> &mut Known {
        let cpu = usize::from(cpu);
        if self.cpus.len() <= cpu {
            self.cpus.resize_with(cpu + 1, Known::default);
        }
        &mut self.cpus[cpu]
    }

    /// What a neighbour took of a CPU's core, by readings that need not be all; `None` without any.
    pub fn taken(&self, cpu: u16, seen: &WidthsOverTime) -> Option<Taken> {
        seen.taken(self.best(cpu)?)
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
        let known = self.cpus.get(usize::from(cpu));
        let count = known.map_or(0, |known| known.widths.count());
        let Some(known) = known.filter(|_| count >= FEWEST) else { return Some(Doubt::FewProbes(count)) };
        let best = known.best?;
        let ipc = WIDTH_INSTRUCTIONS / best;
        if cfg!(target_arch = "x86_64") && ipc < NARROWEST {
            return Some(Doubt::Narrow(ipc));
        }
        let widths = &known.widths;
        let (crowd, near) =
            (widths.between(best / CROWDED, best * CROWDED), widths.between(best / SHARED_FROM, best * SHARED_FROM));
        ((crowd as f64) < CROWDED_SHARE * near as f64).then_some(Doubt::NoCrowd)
    }

    /// The doubts of all CPUs that were probed.
    pub fn doubts(&self) -> impl Iterator<Item = (u16, Doubt)> + '_ {
        let probed = (0..self.cpus.len() as u16).filter(|&cpu| self.cpus[usize::from(cpu)].widths.count() > 0);
        probed.filter_map(|cpu| Some((cpu, self.doubt(cpu)?)))
    }
}

impl Known {
    fn add(&mut self, cycles: f32) {
        let before = self.widths.count();
        self.widths.add(cycles);
        let count = self.widths.count();
        // Looking takes some microseconds, and many readings change little.
        if count != before && (count < OFTEN_UNTIL || count.is_multiple_of(THEN_EVERY)) {
            self.best = self.widths.lowest_crowd();
        }
    }
}
