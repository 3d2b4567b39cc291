//! How wide a core was found, reading by reading, in a memory that does not grow.

use crate::statistics::Interval;

/// Readings of one CPU's core: cycles that a round of the loop of width took, in logarithmic bins.
#[derive(Clone, Debug)]
pub struct Widths {
    bins: Vec<u32>,
    count: u64,
    least: f64,
}

/// What a neighbour took of a core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Of the readings that were one or the other, the share of those that found the core shared; `None` without any.
    pub shared_share: Option<f64>,
    /// Its 95 % interval, by the scatter between blocks of time; `None` where these are too few.
    pub shared_share_ci: Option<Interval>,
    /// What code that is limited by the core's width lost of its speed, over all readings.
    pub width_lost_share: f64,
}

/// Up to so many times the best is alone, …
pub(super) const ALONE_UP_TO: f64 = 1.06;
/// … and from so many on shared.
pub(super) const SHARED_FROM: f64 = 1.2;
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

impl Default for Widths {
    fn default() -> Self {
        Self { bins: vec![0; BINS], count: 0, least: f64::INFINITY }
    }
}

impl Widths {
    /// One reading's cycles; what is no number, as of a stretch that changed its CPU, is left out.
    pub fn add(&mut self, cycles: f32) {
        if cycles.is_finite() && cycles > 0.0 {
            let cycles = f64::from(cycles);
            self.bins[bin(cycles)] += 1;
            self.count += 1;
            self.least = self.least.min(cycles);
        }
    }

    /// All of another's.
    pub fn absorb(&mut self, other: &Self) {
        self.bins.iter_mut().zip(&other.bins).for_each(|(sum, bin)| *sum += bin);
        self.count += other.count;
        self.least = self.least.min(other.least);
    }

    /// How many readings.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What a neighbour took, where `best` is the core alone; `None` without a reading.
    pub(super) fn taken(&self, best: f64) -> Option<Taken> {
        let lost = |(bin, &count): (usize, &u32)| f64::from(count) * (1.0 - best / middle(bin)).max(0.0);
        let lost: f64 = self.bins.iter().enumerate().map(lost).sum();
        let (shared, told_apart) = self.shared_of(best);
        (self.count > 0).then(|| Taken {
            shared_share: (told_apart > 0.0).then(|| shared / told_apart),
            shared_share_ci: None,
            width_lost_share: lost / self.count as f64,
        })
    }

    /// How many readings found the core shared, and how many found it either shared or alone.
    pub(super) fn shared_of(&self, best: f64) -> (f64, f64) {
        let (alone, shared) = (self.between(0.0, best * ALONE_UP_TO), self.between(best * SHARED_FROM, f64::MAX));
        (shared as f64, (alone + shared) as f64)
    }

    /// The middle of the lowest crowd; the least of all where there are too few for a crowd. A reading can be too low,
    /// if the frequency changed between its two loops, so the lowest are not yet the crowd.
    pub(super) fn lowest_crowd(&self) -> Option<f64> {
        let enough = CROWD.max((self.count as f64 * CROWD_SHARE) as u64);
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

    /// How many of these lie between two cycles, the ends included.
    pub(super) fn between(&self, low: f64, high: f64) -> u64 {
        self.bins[bin(low)..=bin(high)].iter().map(|&count| u64::from(count)).sum()
    }
}

/// A bin holds what rounds to it, so that its lower end, times a little, is in it again.
fn bin(cycles: f64) -> usize {
    ((cycles / FIRST).ln() / STEP.ln()).round().clamp(0.0, (BINS - 1) as f64) as usize
}

fn middle(bin: usize) -> f64 {
    FIRST * STEP.powi(bin as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_is_what_was_put_in() {
        let mut widths = Widths::default();
        (0..750).for_each(|_| widths.add(3.0));
        (0..250).for_each(|_| widths.add(6.0));
        widths.add(f32::INFINITY);
        let best = widths.lowest_crowd().unwrap();
        let taken = widths.taken(best).unwrap();
        assert!((best - 3.0).abs() < 0.01 && widths.count() == 1000);
        assert_eq!(taken.shared_share, Some(0.25));
        // A quarter of the time half of the width.
        assert!((taken.width_lost_share - 0.125).abs() < 0.002, "{taken:?}");
        assert_eq!(Widths::default().taken(3.0), None);
    }

    #[test]
    fn two_that_are_put_together_are_as_one() {
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
        assert_eq!((one.taken(3.0), one.lowest_crowd()), (both.taken(3.0), both.lowest_crowd()));
    }
}
