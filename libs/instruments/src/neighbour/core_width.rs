//! The width of each core, learned from probes.

use super::loops::WIDTH_INSTRUCTIONS;
use super::probe::{Probed, Sharing};
use crate::statistics::Interval;
use crate::statistics::blocks::share_interval;
use crate::statistics::summary::CONFIDENCE;
use std::fmt;

/// The best value of each CPU that was seen often, by which periods are classified.
///
/// On an exclusive core, the width loop always takes the same time to a percent. With an active SMT sibling it takes
/// at least a third more, and the time varies. The best value is therefore the middle of the lowest cluster of
/// readings, and the limits are well within the empty range above it: up to 6 % more is exclusive, 20 % more and
/// above is shared.
#[derive(Clone, Debug, Default)]
pub struct CoreWidth {
    cpus: Vec<Known>,
}

/// A reason why the core may never have been seen exclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Uncertainty {
    /// There are too few probes.
    FewProbes(u64),
    /// The lowest readings form no cluster: an SMT sibling was always active, with varying load.
    NoCrowd,
    /// The best reading has fewer instructions per cycle than an exclusive core with two hardware threads issues.
    Narrow(f64),
}

impl fmt::Display for Uncertainty {
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

/// The readings of a CPU.
#[derive(Clone, Debug, Default)]
struct Known {
    widths: Widths,
    /// Best value at the last update.
    best: Option<f64>,
}

/// The best value is updated at each of the first readings, up to this number, and then at every multiple of
/// `THEN_EVERY`.
const OFTEN_UNTIL: u64 = 100;
const THEN_EVERY: u64 = 32;
/// Least number of probes on a CPU that permits a conclusion.
const FEWEST: u64 = 20;
/// Least share of the readings near the best that are at the very best if the core is exclusive: the phases of an SMT
/// sibling fill the range evenly.
const AT_BEST_SHARE: f64 = 0.7;
const AT_BEST: f64 = 1.02;
/// Least width: the narrowest cores of x86-64 with two hardware threads issue four instructions per cycle.
const NARROWEST: f64 = 3.8;

impl CoreWidth {
    /// Records the readings of probes. Returns whether that is a new best on its CPU, so that earlier periods must be
    /// classified again.
    pub fn learn(&mut self, probed: &Probed) -> bool {
        // For a thread that moved, the CPU of the least reading is unknown.
        if probed.most.is_infinite() {
            return false;
        }
        let known = self.known(probed.cpu);
        let before = known.best;
        known.add(probed.least);
        known.add(probed.most);
        matches!((before, known.best), (Some(before), Some(best)) if best * ALONE_UP_TO < before)
    }

    /// Records many readings on one CPU at once.
    pub fn learn_widths(&mut self, cpu: u16, widths: &Widths) {
        let known = self.known(cpu);
        known.widths.absorb(widths);
        known.best = known.widths.lowest_cluster();
    }

    fn known(&mut self, cpu: u16) -> &mut Known {
        let cpu = usize::from(cpu);
        if self.cpus.len() <= cpu {
            self.cpus.resize_with(cpu + 1, Known::default);
        }
        &mut self.cpus[cpu]
    }

    /// Returns the effect of SMT interference on a CPU's core, by readings that need not be all; `None` without any.
    pub fn taken(&self, cpu: u16, seen: &WidthsOverTime) -> Option<Taken> {
        seen.taken(self.best(cpu)?)
    }

    /// Returns the time of the width loop on an exclusive core of a CPU, in cycles per iteration; `None` if it was
    /// not probed.
    pub fn best(&self, cpu: u16) -> Option<f64> {
        self.cpus.get(usize::from(cpu))?.best
    }

    /// Returns whether the cores of a period were exclusive.
    ///
    /// A period that ran on several CPUs was exclusive only if all of them were, and is shared if one of them was, as
    /// long as each is one or the other.
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

    /// Returns the reason why a CPU's best value may not be that of the exclusive core, if there is one.
    pub fn doubt(&self, cpu: u16) -> Option<Uncertainty> {
        let known = self.cpus.get(usize::from(cpu));
        let count = known.map_or(0, |known| known.widths.count());
        let Some(known) = known.filter(|_| count >= FEWEST) else { return Some(Uncertainty::FewProbes(count)) };
        let best = known.best?;
        let ipc = WIDTH_INSTRUCTIONS / best;
        if cfg!(target_arch = "x86_64") && ipc < NARROWEST {
            return Some(Uncertainty::Narrow(ipc));
        }
        let widths = &known.widths;
        let (at_best, near) =
            (widths.between(best / AT_BEST, best * AT_BEST), widths.between(best / SHARED_FROM, best * SHARED_FROM));
        ((at_best as f64) < AT_BEST_SHARE * near as f64).then_some(Uncertainty::NoCrowd)
    }

    /// Returns these reasons for all CPUs that were probed.
    pub fn doubts(&self) -> impl Iterator<Item = (u16, Uncertainty)> + '_ {
        let probed = (0..self.cpus.len() as u16).filter(|&cpu| self.cpus[usize::from(cpu)].widths.count() > 0);
        probed.filter_map(|cpu| Some((cpu, self.doubt(cpu)?)))
    }
}

impl Known {
    fn add(&mut self, cycles: f32) {
        let before = self.widths.count();
        self.widths.add(cycles);
        let count = self.widths.count();
        // An update takes some microseconds, and many readings change little.
        if count != before && (count < OFTEN_UNTIL || count.is_multiple_of(THEN_EVERY)) {
            self.best = self.widths.lowest_cluster();
        }
    }
}

// The measured width of a core, reading by reading, in bounded memory.

/// Readings of one CPU's core: the cycles per iteration of the width loop, in logarithmic bins.
#[derive(Clone, Debug)]
pub struct Widths {
    bins: Vec<u32>,
    count: u64,
    least: f64,
}

/// The effect of SMT interference on a core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Share of readings with the core shared, among those that are one or the other; `None` without any.
    pub shared_share: Option<f64>,
    /// 95 % confidence interval of that share, by the scatter between blocks of time; `None` for too few blocks.
    pub shared_share_ci: Option<Interval>,
    /// Share of its speed that code limited by the core's width lost, over all readings.
    pub width_lost_share: f64,
}

/// Multiple of the best value up to which the core is exclusive.
pub(super) const ALONE_UP_TO: f64 = 1.06;
/// Multiple of the best value from which the core is shared.
pub(super) const SHARED_FROM: f64 = 1.2;
/// Least cycles of the bins, which extend to 256 cycles in steps of half a percent.
const FIRST: f64 = 0.5;
const STEP: f64 = 1.005;
const BINS: usize = 1252;
/// Number of bins into which the cluster of the exclusive core fits, and number of bins from the lowest one within
/// which it begins.
const CLUSTER_BINS: usize = 6;
const CLUSTER_WITHIN: usize = 12;
/// Least number of readings of a cluster, and least share of all readings.
const CLUSTER: u64 = 5;
const CLUSTER_SHARE: f64 = 0.005;

impl Default for Widths {
    fn default() -> Self {
        Self { bins: vec![0; BINS], count: 0, least: f64::INFINITY }
    }
}

impl Widths {
    /// Adds one reading's cycles; values that are not numbers, as for a period that changed its CPU, are omitted.
    pub fn add(&mut self, cycles: f32) {
        if cycles.is_finite() && cycles > 0.0 {
            let cycles = f64::from(cycles);
            self.bins[bin(cycles)] += 1;
            self.count += 1;
            self.least = self.least.min(cycles);
        }
    }

    /// Adds all readings of another.
    pub fn absorb(&mut self, other: &Self) {
        self.bins.iter_mut().zip(&other.bins).for_each(|(sum, bin)| *sum += bin);
        self.count += other.count;
        self.least = self.least.min(other.least);
    }

    /// Returns the number of readings.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the effect of SMT interference, where `best` is the exclusive core; `None` without a reading.
    pub(super) fn taken(&self, best: f64) -> Option<Taken> {
        let lost = |(bin, &count): (usize, &u32)| f64::from(count) * (1.0 - best / middle(bin)).max(0.0);
        let lost: f64 = self.bins.iter().enumerate().map(lost).sum();
        let (shared, classified) = self.shared_of(best);
        (self.count > 0).then(|| Taken {
            shared_share: (classified > 0.0).then(|| shared / classified),
            shared_share_ci: None,
            width_lost_share: lost / self.count as f64,
        })
    }

    /// Returns the number of readings with the core shared, and the number with the core either shared or exclusive.
    pub(super) fn shared_of(&self, best: f64) -> (f64, f64) {
        let (alone, shared) = (self.between(0.0, best * ALONE_UP_TO), self.between(best * SHARED_FROM, f64::MAX));
        (shared as f64, (alone + shared) as f64)
    }

    /// Returns the middle of the lowest cluster, or the least value if there are too few readings for a cluster.
    ///
    /// A reading can be too low if the frequency changed between its two loops, so the lowest readings are not
    /// necessarily the cluster.
    pub(super) fn lowest_cluster(&self) -> Option<f64> {
        let enough = CLUSTER.max((self.count as f64 * CLUSTER_SHARE) as u64);
        let Some(from) = self.windows().position(|count| count >= enough) else {
            return Some(self.least).filter(|least| least.is_finite());
        };
        let most = self.windows().skip(from).take(CLUSTER_WITHIN).max()?;
        let first = from + self.windows().skip(from).position(|count| count == most)?;
        let bins = self.bins[first..first + CLUSTER_BINS].iter().zip(first..);
        let sum: f64 = bins.map(|(&count, bin)| f64::from(count) * bin as f64).sum();
        Some(FIRST * STEP.powf(sum / most as f64))
    }

    /// Returns the number of readings in each of the overlapping windows for a cluster.
    fn windows(&self) -> impl Iterator<Item = u64> + '_ {
        self.bins.windows(CLUSTER_BINS).map(|window| window.iter().map(|&count| u64::from(count)).sum())
    }

    /// Returns the number of readings between two numbers of cycles, inclusive.
    pub(super) fn between(&self, low: f64, high: f64) -> u64 {
        self.bins[bin(low)..=bin(high)].iter().map(|&count| u64::from(count)).sum()
    }
}

/// Returns the bin to which `cycles` rounds, so that its lower end, times a little, is in it again.
fn bin(cycles: f64) -> usize {
    ((cycles / FIRST).ln() / STEP.ln()).round().clamp(0.0, (BINS - 1) as f64) as usize
}

fn middle(bin: usize) -> f64 {
    FIRST * STEP.powi(bin as i32)
}

// The measured width of a core over time, block by block, in bounded memory.

/// Readings of one CPU's core, in blocks in the order of time.
///
/// The activity of an SMT sibling is correlated in time, so the scatter between blocks determines the uncertainty of
/// a share.
///
/// # Examples
///
/// ```
/// use instruments::neighbour::{Widths, WidthsOverTime};
///
/// let mut seen = WidthsOverTime::default();
/// for _second in 0..10 {
///     let mut widths = Widths::default();
///     widths.add(3.0); // as many readings as a second has
///     seen.push(&widths);
/// }
/// assert_eq!(seen.all().count(), 10);
/// ```
#[derive(Clone, Debug)]
pub struct WidthsOverTime {
    blocks: Vec<Widths>,
    /// Number of readings at which a block ends.
    full: u64,
}

/// Largest number of blocks, and least number of readings of a block: an SMT sibling's activity changes within tens
/// of milliseconds, and a core is probed every 10 ms.
const MOST: usize = 32;
const FEWEST_IN_BLOCK: u64 = 25;

impl Default for WidthsOverTime {
    fn default() -> Self {
        Self { blocks: Vec::new(), full: FEWEST_IN_BLOCK }
    }
}

impl WidthsOverTime {
    /// Adds the next reading's cycles.
    pub fn add(&mut self, cycles: f32) {
        self.block().add(cycles);
    }

    /// Adds the readings of the next piece of time.
    pub fn push(&mut self, piece: &Widths) {
        self.block().absorb(piece);
    }

    /// Returns the block to which the next readings belong.
    fn block(&mut self) -> &mut Widths {
        let is_full = self.blocks.last().is_none_or(|last| last.count() >= self.full);
        if is_full && self.blocks.len() == MOST {
            self.join_neighbours();
        }
        if is_full {
            self.blocks.push(Widths::default());
        }
        self.blocks.last_mut().expect("there is one that is not full")
    }

    fn join_neighbours(&mut self) {
        self.blocks = self.blocks.chunks(2).map(sum).collect();
        self.full *= 2;
    }

    /// Adds the readings of another thread that probed the same core alternately: both readings of a block depend on
    /// each other.
    pub fn absorb(&mut self, other: &Self) {
        let mut other = other.clone();
        while other.full < self.full {
            other.join_neighbours();
        }
        while self.full < other.full {
            self.join_neighbours();
        }
        let (simultaneous, after) = other.blocks.split_at(self.blocks.len().min(other.blocks.len()));
        self.blocks.iter_mut().zip(simultaneous).for_each(|(block, other)| block.absorb(other));
        self.blocks.extend_from_slice(after);
    }

    /// Returns all readings.
    pub fn all(&self) -> Widths {
        sum(&self.blocks)
    }

    /// Returns the effect of SMT interference, where `best` is the exclusive core; `None` without a reading.
    pub(super) fn taken(&self, best: f64) -> Option<Taken> {
        let counts: Vec<(f64, f64)> = self.blocks.iter().map(|block| block.shared_of(best)).collect();
        Some(Taken { shared_share_ci: share_interval(&counts, CONFIDENCE), ..self.all().taken(best)? })
    }
}

fn sum(blocks: &[Widths]) -> Widths {
    let mut sum = Widths::default();
    blocks.iter().for_each(|block| sum.absorb(block));
    sum
}

#[cfg(test)]
mod widths_tests {
    use super::*;

    #[test]
    fn interference_equals_the_simulated_one() {
        let mut widths = Widths::default();
        (0..750).for_each(|_| widths.add(3.0));
        (0..250).for_each(|_| widths.add(6.0));
        widths.add(f32::INFINITY);
        let best = widths.lowest_cluster().unwrap();
        let taken = widths.taken(best).unwrap();
        assert!((best - 3.0).abs() < 0.01 && widths.count() == 1000);
        assert_eq!(taken.shared_share, Some(0.25));
        // Half of the width for a quarter of the time.
        assert!((taken.width_lost_share - 0.125).abs() < 0.002, "{taken:?}");
        assert_eq!(Widths::default().taken(3.0), None);
    }

    #[test]
    fn merged_widths_equal_those_of_one() {
        let (mut one, mut other, mut both) = (Widths::default(), Widths::default(), Widths::default());
        for n in 0..100 {
            let cycles = 3.0 + n as f32 / 50.0;
            if n % 3 == 0 {
                one.add(cycles)
            } else {
                other.add(cycles)
            }
            both.add(cycles);
        }
        one.absorb(&other);
        assert_eq!((one.taken(3.0), one.lowest_cluster()), (both.taken(3.0), both.lowest_cluster()));
    }
}

#[cfg(test)]
mod over_time_tests {
    use super::*;

    const ALONE: f32 = 3.0;
    const SHARED: f32 = 6.0;

    fn piece(readings: &[f32]) -> Widths {
        let mut widths = Widths::default();
        readings.iter().for_each(|cycles| widths.add(*cycles));
        widths
    }

    #[test]
    fn long_measurement_fits_and_loses_no_reading() {
        let mut seen = WidthsOverTime::default();
        for _ in 0..10_000 {
            seen.push(&piece(&[ALONE, SHARED]));
            seen.push(&Widths::default());
        }
        assert!(seen.blocks.len() <= MOST && seen.all().count() == 20_000);
        let counts: Vec<u64> = seen.blocks.iter().map(Widths::count).collect();
        let (_, full_blocks) = counts.split_last().unwrap();
        assert!(full_blocks.iter().all(|count| (seen.full..2 * seen.full).contains(count)), "{counts:?}");
    }

    #[test]
    fn two_threads_on_one_core_give_no_more_blocks_than_one() {
        let (mut one, mut other) = (WidthsOverTime::default(), WidthsOverTime::default());
        (0..4_000).for_each(|_| one.add(ALONE));
        (0..1_000).for_each(|_| other.add(SHARED));
        for (first, second) in [(&one, &other), (&other, &one)] {
            let mut both = first.clone();
            both.absorb(second);
            assert_eq!((both.all().count(), both.full, both.blocks.len()), (5_000, one.full, one.blocks.len()));
            assert_eq!(both.taken(3.0).unwrap().shared_share, Some(0.2));
        }
    }

    #[test]
    fn few_blocks_give_a_share_without_an_interval() {
        let mut seen = WidthsOverTime::default();
        let quarter = [ALONE, ALONE, ALONE, SHARED].repeat(25);
        for blocks in 1..=4 {
            seen.push(&piece(&quarter));
            let taken = seen.taken(3.0).unwrap();
            assert_eq!(taken.shared_share, Some(0.25));
            assert_eq!(taken.shared_share_ci.is_some(), blocks >= 4, "{blocks} blocks");
        }
    }

    /// The interference lasts for about 30 ms and pauses for about 70 ms, probed every 10 ms, in pieces of a quarter.
    #[test]
    fn interval_of_the_share_has_its_nominal_coverage() {
        const RUNS: usize = 400;
        let mut rng = fastrand::Rng::with_seed(3);
        for pieces in [12, 80, 200] {
            let mut sibling = Sibling { is_there: false, left: 0.0 };
            let mut run = || {
                let mut seen = WidthsOverTime::default();
                (0..pieces).for_each(|_| seen.push(&piece(&[(); 25].map(|()| sibling.look(&mut rng)))));
                seen.taken(3.0)?.shared_share_ci
            };
            let covered = (0..RUNS).filter(|_| run().is_some_and(|ends| ends.contains(0.3))).count();
            let covered = covered as f64 / RUNS as f64;
            assert!((0.92..=0.98).contains(&covered), "{pieces} pieces: covered {covered}");
        }
    }

    struct Sibling {
        is_there: bool,
        left: f64,
    }

    impl Sibling {
        fn look(&mut self, rng: &mut fastrand::Rng) -> f32 {
            self.left -= 10.0;
            while self.left < 0.0 {
                self.is_there = !self.is_there;
                self.left += -(1.0 - rng.f64()).ln() * if self.is_there { 30.0 } else { 70.0 };
            }
            if self.is_there { SHARED } else { ALONE }
        }
    }
}
