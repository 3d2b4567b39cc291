//! Detection of outliers among machines: those that differ from the others by more than these differ from each other.
//!
//! Every machine has one value of each metric. Its distance from the mean of the others is expressed in their
//! standard deviation, so that an outlier itself is in neither. For every eight others, the one farthest from their
//! median is excluded, so that several outliers among many do not mask each other (after Rosner, "Percentage points
//! for a generalized ESD many-outlier procedure", 1983, and Davies and Gather, "The identification of multiple
//! outliers", 1993). The largest distance among n equal machines is determined by drawing such machines: a Monte
//! Carlo test (Dwass, "Modified randomization tests for nonparametric hypotheses", 1957). They are drawn from
//! Student's t with five degrees of freedom and not from a normal distribution, because real machines have longer
//! tails.
//!
//! The bound applies to the whole family. Among sets of equal machines, with any number of metrics, at most the
//! stated share has any outlier in any metric. Each metric has its part of it (Bonferroni), which is valid however
//! metrics depend on each other.

use super::order::median_of_sorted;
use std::collections::HashMap;
use std::f64::consts::TAU;

/// Least number of machines: of two, neither can be called the outlier.
pub const LEAST_MACHINES: usize = 3;

/// Number of draws beyond the limit, so that it is known to a tenth.
const BEYOND: f64 = 100.0;
/// Number of other machines for each of which one is excluded.
const OTHERS_PER_EXCLUDED: usize = 8;
/// Largest number of draws: a second at most, for dozens of machines.
const MOST_DRAWS: f64 = 200_000.0;
const DEGREES: f64 = 5.0;
/// Fixed seed, so that the limits are the same each time.
const SEED: u64 = 1_957;

/// A metric of several machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its logarithm on each machine.
    pub logarithms: Vec<f64>,
    /// Spread that counts as none: the step of a clock, or the error of each value.
    pub least_spread: f64,
}

/// A detector of outliers; it caches the limits that it has drawn.
#[derive(Clone, Debug)]
pub struct Outliers {
    chance: f64,
    /// Limits by the number of machines that have a metric, and the number of metrics judged together.
    limits: HashMap<(usize, usize), f64>,
}

impl Outliers {
    /// Returns a detector that finds an outlier in at most this share of families of metrics in which all machines
    /// are equal.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::statistics::outlier::{Figure, Outliers};
    ///
    /// let figure = |logarithms: &[f64]| Figure { logarithms: logarithms.to_vec(), least_spread: 0.01 };
    /// let same = figure(&[0.00, 0.02, -0.01, 0.01, -0.02, 0.015]);
    /// let last = figure(&[0.00, 0.02, -0.01, 0.01, -0.02, 0.500]);
    /// assert_eq!(Outliers::with_chance(0.05).among(&[same, last]), [vec![], vec![5]]);
    /// ```
    pub fn with_chance(chance: f64) -> Self {
        Self { chance, limits: HashMap::new() }
    }

    /// Returns the outliers of each metric, by their positions in it.
    pub fn among(&mut self, figures: &[Figure]) -> Vec<Vec<usize>> {
        let judged = figures.iter().filter(|figure| figure.logarithms.len() >= LEAST_MACHINES).count();
        figures.iter().map(|figure| self.of_figure(figure, judged)).collect()
    }

    fn of_figure(&mut self, figure: &Figure, judged: usize) -> Vec<usize> {
        let machines = figure.logarithms.len();
        if machines < LEAST_MACHINES {
            return Vec::new();
        }
        let chance = self.chance / judged as f64;
        let limit = *self.limits.entry((machines, judged)).or_insert_with(|| limit(machines, chance));
        let mut order: Vec<usize> = (0..machines).collect();
        order.sort_by(|one, other| figure.logarithms[*one].total_cmp(&figure.logarithms[*other]));
        let sorted: Vec<f64> = order.iter().map(|place| figure.logarithms[*place]).collect();
        let is_odd = |place: &usize| distance(&sorted, *place, figure.least_spread) > limit;
        let mut found: Vec<usize> = (0..machines).filter(is_odd).map(|place| order[place]).collect();
        found.sort_unstable();
        found
    }
}

/// Returns the distance of the value at this position from the others, which are sorted with it, in units of their
/// spread. If they are equal to the last digit, no value is an outlier.
fn distance(sorted: &[f64], place: usize, least_spread: f64) -> f64 {
    let mut others = sorted.to_vec();
    let value = others.remove(place);
    let middle = median_of_sorted(&others);
    for _ in 0..others.len() / OTHERS_PER_EXCLUDED {
        let is_first_farther = middle - others[0] > others[others.len() - 1] - middle;
        others.remove(if is_first_farther { 0 } else { others.len() - 1 });
    }
    let mean = others.iter().sum::<f64>() / others.len() as f64;
    let squares: f64 = others.iter().map(|other| (other - mean).powi(2)).sum();
    let spread = (squares / (others.len() - 1) as f64).sqrt().max(least_spread);
    if spread > 0.0 { (value - mean).abs() / spread } else { 0.0 }
}

/// Returns the distance that the farthest of this number of equal machines exceeds with this probability; infinite if
/// the draws are too few.
fn limit(machines: usize, chance: f64) -> f64 {
    let draws = (BEYOND / chance).clamp(1.0, MOST_DRAWS).ceil();
    // The judged machines are one further draw.
    let beyond = (chance * (draws + 1.0)).floor() as usize;
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut farthest = |_| {
        let mut values: Vec<f64> = (0..machines).map(|_| drawn(&mut random)).collect();
        values.sort_by(f64::total_cmp);
        // The farthest value is one of the ends.
        distance(&values, 0, 0.0).max(distance(&values, machines - 1, 0.0))
    };
    let mut all: Vec<f64> = (0..draws as usize).map(&mut farthest).collect();
    all.sort_by(|one, other| other.total_cmp(one));
    beyond.checked_sub(1).and_then(|place| all.get(place)).copied().unwrap_or(f64::INFINITY)
}

/// Returns a draw from Student's t by the polar method (Bailey, "Polar generation of random variates with the
/// t-distribution", 1994).
fn drawn(random: &mut fastrand::Rng) -> f64 {
    // Not 0, whose power is infinite.
    let radius = 1.0 - random.f64();
    (DEGREES * (radius.powf(-2.0 / DEGREES) - 1.0)).sqrt() * (TAU * random.f64()).cos()
}
