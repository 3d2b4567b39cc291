//! Repeated tests of a growing comparison, with no more false alarms than one test at its end has.
//!
//! A test at 95 % after each tenth of the time finds a difference between equal sides in 19 of 100 comparisons. Each
//! look at the data may therefore spend only a part of the error: until the time `t`, from 0 to 1, `level * t^3` is
//! spent (Lan and DeMets, "Discrete Sequential Boundaries for Clinical Trials", 1983; Kim and DeMets 1987 for the
//! powers). Little is spent early, so that the last look is nearly as sharp as a single test; a large difference
//! still ends the comparison early.
//!
//! The rest of the error at a look depends on the data that the previous looks share with it. It is computed by
//! integration over the sums of a Brownian motion (Armitage, McPherson and Rowe 1969; Jennison and Turnbull, "Group
//! Sequential Methods", 19).
//!
//! The level of a look is valid for any test whose statistic grows as a sum does, such as the signed-rank statistic.
//! The interval at that level covers the true value at all looks together, for any rule that ends the comparison
//! (repeated confidence intervals: Jennison and Turnbull, 9).

use statrs::distribution::{ContinuousCDF, Normal};
use std::f64::consts::PI;

/// A look at the data so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Share of the planned time that has passed, up to 1.
    pub time_share: f64,
    /// Number of blocks so far, more than at the previous look.
    pub blocks: f64,
}

/// Power of the time in the spending function.
const POWER: i32 = 3;
/// Points of the grid over the sums that no look so far has rejected.
const POINTS: usize = 120;
/// Largest bound of a sum, in standard deviations; a bound beyond it has a level too small for an `f64`.
const FARTHEST: f64 = 9.0;
/// Bisections that find a bound to a hundred-millionth of its range.
const BISECTIONS: usize = 30;
/// Least part of the error that is spent at a look.
const LEAST: f64 = 1e-12;

/// Returns the level at which the last of these looks may test.
///
/// At these levels, all looks together reject equal sides with at most the probability `level`. The level is 0 if the
/// last look has no error to spend.
///
/// # Examples
///
/// ```
/// use instruments::statistics::sequential::{Look, level_of_last};
///
/// let look = |time_share| Look { time_share, blocks: 100.0 * time_share };
/// assert!((level_of_last(0.05, &[look(1.0)]) - 0.05).abs() < 1e-9);
/// let early = level_of_last(0.05, &[look(0.5)]);
/// let late = level_of_last(0.05, &[look(0.5), look(1.0)]);
/// assert!((early - 0.00625).abs() < 1e-9 && late > 0.045 && late < 0.05);
/// ```
pub fn level_of_last(level: f64, looks: &[Look]) -> f64 {
    let mut before = 0.0;
    let mut sums = Sums::none();
    let mut last = 0.0;
    for (place, look) in looks.iter().enumerate() {
        let spent = level * look.time_share.clamp(0.0, 1.0).powi(POWER);
        let part = (spent - before).max(0.0);
        before = before.max(spent);
        let bound = sums.bound(part, look.blocks);
        last = if bound.is_finite() { 2.0 * upper_tail(bound / look.blocks.sqrt()) } else { 0.0 };
        if place + 1 < looks.len() {
            sums = sums.after(bound, look.blocks);
        }
    }
    last
}

/// The density of the sums that no look so far has rejected.
struct Sums {
    /// Number of blocks in each sum.
    blocks: f64,
    /// Points and their densities, none before the first look; `step` is the width of each.
    points: Vec<(f64, f64)>,
    step: f64,
}

impl Sums {
    fn none() -> Self {
        Self { blocks: 0.0, points: Vec::new(), step: 0.0 }
    }

    /// Returns the probability that the sum is beyond the bound at `blocks` and that no previous look has rejected
    /// it.
    fn beyond(&self, bound: f64, blocks: f64) -> f64 {
        if self.points.is_empty() {
            return 2.0 * upper_tail(bound / blocks.sqrt());
        }
        let deviation = (blocks - self.blocks).max(f64::MIN_POSITIVE).sqrt();
        // The density is symmetric, so the tails are equal.
        let tail = |at: f64| upper_tail((bound - at) / deviation);
        2.0 * self.points.iter().map(|&(at, density)| density * tail(at)).sum::<f64>() * self.step
    }

    /// Returns the bound that spends this part of the error.
    fn bound(&self, part: f64, blocks: f64) -> f64 {
        if part < LEAST {
            return f64::INFINITY;
        }
        let (mut low, mut high) = (0.0, FARTHEST * blocks.sqrt());
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(low, high);
            if self.beyond(middle, blocks) > part { low = middle } else { high = middle }
        }
        high
    }

    /// Returns the density after a look with this bound.
    fn after(&self, bound: f64, blocks: f64) -> Self {
        let end = bound.min(FARTHEST * blocks.sqrt());
        let step = 2.0 * end / POINTS as f64;
        let before: &[(f64, f64)] = if self.points.is_empty() { &[(0.0, 1.0)] } else { &self.points };
        let width = if self.points.is_empty() { 1.0 } else { self.step };
        let variance = (blocks - self.blocks).max(f64::MIN_POSITIVE);
        let normal = |distance: f64| (-distance * distance / (2.0 * variance)).exp() / (2.0 * PI * variance).sqrt();
        let points = (0..POINTS).map(|place| {
            let at = -end + (place as f64 + 0.5) * step;
            (at, before.iter().map(|&(from, density)| density * normal(at - from)).sum::<f64>() * width)
        });
        Self { blocks, points: points.collect(), step }
    }
}

/// Returns the standard normal value that is exceeded with this probability.
pub fn upper_quantile(probability: f64) -> f64 {
    Normal::standard().inverse_cdf(1.0 - probability)
}

/// Returns the probability that a standard normal value is larger.
fn upper_tail(z: f64) -> f64 {
    Normal::standard().sf(z)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(looks: usize) -> Vec<Look> {
        (1..=looks).map(|look| Look { time_share: look as f64 / looks as f64, blocks: 40.0 * look as f64 }).collect()
    }

    #[test]
    fn equal_sides_are_rejected_at_the_level_by_all_looks() {
        let looks = even(5);
        let bounds: Vec<f64> = (1..=looks.len())
            .map(|count| {
                let level = level_of_last(0.05, &looks[..count]);
                if level > 0.0 { upper_quantile(level / 2.0) } else { f64::INFINITY }
            })
            .collect();
        let random = &mut fastrand::Rng::with_seed(11);
        const COMPARISONS: usize = 40_000;
        let is_rejected = |random: &mut fastrand::Rng| {
            let (mut sum, mut blocks) = (0.0, 0.0);
            looks.iter().zip(&bounds).any(|(look, bound)| {
                let normal: f64 = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
                sum += normal * (look.blocks - blocks).sqrt();
                blocks = look.blocks;
                sum.abs() > bound * blocks.sqrt()
            })
        };
        let rejected = (0..COMPARISONS).filter(|_| is_rejected(random)).count() as f64 / COMPARISONS as f64;
        assert!((0.045..0.055).contains(&rejected), "{rejected}");
    }

    #[test]
    fn last_look_is_nearly_as_sharp_as_a_single_one() {
        let last = level_of_last(0.05, &even(10));
        assert!((0.035..0.05).contains(&last), "{last}");
        assert_eq!(level_of_last(0.05, &[]), 0.0);
    }
}
