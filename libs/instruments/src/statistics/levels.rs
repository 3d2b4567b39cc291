//! Detection of repetitions that fall into two levels, so that one median does not describe them.
//!
//! A lock that hands off in order can force its waiters into one pattern of context switches for a whole run, and
//! into another one in the next: half as fast, and steady within the run. The median of such runs is one of the
//! levels by chance, and its interval does not include the other one. The runs are therefore cut at the widest
//! distance between adjacent values, and the cut counts if that distance far exceeds the scatter on both sides.

use super::order::{median_of_sorted, sorted};
use serde::{Deserialize, Serialize};

/// Least number of repetitions: fewer can form two groups by chance.
const FEWEST: usize = 6;
/// Least number of repetitions on a level: one far from the others is an outlier, not a level.
const FEWEST_ON_A_LEVEL: usize = 2;
/// Ratio of the distance to the width of either level above which they are levels: in noise without levels, fewer
/// than one set in a hundred has one.
const GAP: f64 = 4.0;
/// Least ratio of two levels that matters to a reader.
const LEAST_RATIO: f64 = 1.1;

/// Two levels of a positive value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Levels {
    /// Median of the repetitions on the lower level.
    pub lower: f64,
    /// Median of the repetitions on the upper level.
    pub upper: f64,
    /// Share of the repetitions on the upper level.
    pub upper_share: f64,
}

impl Levels {
    /// Returns the levels of these repetitions; `None` if they have one level.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::statistics::levels::Levels;
    ///
    /// let runs = [44_200.0, 73_800.0, 44_900.0, 73_100.0, 44_500.0, 44_100.0];
    /// let found = Levels::of(&runs).unwrap();
    /// assert_eq!((found.lower, found.upper), (44_350.0, 73_450.0));
    /// assert_eq!(Levels::of(&[44.1, 44.2, 44.9, 44.0, 44.5, 44.3]), None);
    /// ```
    pub fn of(repetitions: &[f64]) -> Option<Self> {
        let values = sorted(repetitions);
        let is_positive = values.first().is_some_and(|least| *least > 0.0) && values.iter().all(|one| one.is_finite());
        if values.len() < FEWEST || !is_positive {
            return None;
        }
        let gap = |cut: &usize| (values[*cut] / values[cut - 1]).ln();
        let cuts = FEWEST_ON_A_LEVEL..=values.len() - FEWEST_ON_A_LEVEL;
        let cut = cuts.max_by(|one, other| gap(one).total_cmp(&gap(other)))?;
        let (low, high) = values.split_at(cut);
        let width = |level: &[f64]| (level[level.len() - 1] / level[0]).ln();
        let (lower, upper) = (median_of_sorted(low), median_of_sorted(high));
        let is_apart = gap(&cut) > GAP * width(low).max(width(high)) && upper >= LEAST_RATIO * lower;
        is_apart.then(|| Self { lower, upper, upper_share: high.len() as f64 / values.len() as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(rng: &mut fastrand::Rng) -> f64 {
        (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
    }

    #[test]
    fn noise_without_levels_rarely_has_any() {
        let mut rng = fastrand::Rng::with_seed(1);
        for count in [6, 10, 20] {
            let found = (0..2_000).filter(|_| {
                let noise: Vec<f64> = (0..count).map(|_| (0.2 * normal(&mut rng)).exp()).collect();
                Levels::of(&noise).is_some()
            });
            assert!(found.count() <= 30, "{count}");
        }
    }

    #[test]
    fn two_levels_are_found_despite_their_scatter() {
        let mut rng = fastrand::Rng::with_seed(2);
        let found = (0..200).filter(|number| {
            let level = |place: usize| if (place + number).is_multiple_of(3) { 47_000.0 } else { 73_800.0 };
            let runs: Vec<f64> = (0..12).map(|place| level(place) * (0.02 * normal(&mut rng)).exp()).collect();
            Levels::of(&runs).is_some_and(|found| (found.upper_share - 2.0 / 3.0).abs() < 0.01)
        });
        assert!(found.count() > 180);
    }

    #[test]
    fn single_outlier_is_not_a_level() {
        assert_eq!(Levels::of(&[10.0, 10.1, 10.2, 9.9, 10.0, 30.0]), None);
        assert_eq!(Levels::of(&[10.0, 10.1, 30.0, 30.1]), None, "too few");
        assert_eq!(Levels::of(&[0.0, 0.0, 0.0, 30.1, 30.2, 30.3]), None, "not positive");
    }
}
