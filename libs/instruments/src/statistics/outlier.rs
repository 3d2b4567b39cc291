//! Outliers among machines: those that differ from the others by more than these differ from each other.
//!
//! Every machine has one value of each figure. Its distance from the mean of the others is counted in their standard
//! deviation, so that the odd one itself is in neither; and of every eight others the one that is farthest from their
//! median is excluded, so that several odd ones among many do not hide each other (after Rosner, "Percentage points for
//! a generalized ESD many-outlier procedure", 1983, and Davies and Gather, "The identification of multiple outliers",
//! 1993). The largest distance among n machines that are all the same is found by drawing such machines: a Monte
//! Carlo test (Dwass, "Modified randomization tests for nonparametric hypotheses", 1957). They are drawn from Student's
//! t with five degrees of freedom and not from a normal distribution: real machines have longer tails.
//!
//! The bound is on the whole family: of sets of machines that are the same, with whatever many figures, at most the
//! stated share has any machine called odd in any figure. Each figure has its part of it (Bonferroni), which holds
//! however figures depend on each other.

use super::order::median_of_sorted;
use std::collections::HashMap;
use std::f64::consts::TAU;

/// With two it cannot be said which is odd.
pub const LEAST_MACHINES: usize = 3;

/// Draws that must exceed the limit, so that it is known to a tenth.
const BEYOND: f64 = 100.0;
/// One is excluded for each of this number of others.
const OTHERS_FOR_ONE_LEFT_OUT: usize = 8;
/// A second of drawing at most, for machines by the dozen.
const MOST_DRAWS: f64 = 200_000.0;
const DEGREES: f64 = 5.0;
/// The same limits each time.
const SEED: u64 = 1_957;

/// A figure of several machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its logarithm on each of them.
    pub logarithms: Vec<f64>,
    /// A spread below this is none: the step of a clock, or what each value may be off.
    pub least_spread: f64,
}

/// What finds them; it remembers the limits that it has drawn.
#[derive(Clone, Debug)]
pub struct Outliers {
    chance: f64,
    /// By how many machines have a figure, and how many figures are judged together.
    limits: HashMap<(usize, usize), f64>,
}

impl Outliers {
    /// Of families of figures in which all machines are the same, at most this share has any odd one.
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

    /// The machines of each figure that are odd, by their places in it.
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

/// The distance of the value at this place from the others, which are sorted with it, in units of their spread.
/// Where they have none to the last digit, no value is outside of it.
fn distance(sorted: &[f64], place: usize, least_spread: f64) -> f64 {
    let mut others = sorted.to_vec();
    let value = others.remove(place);
    let middle = median_of_sorted(&others);
    for _ in 0..others.len() / OTHERS_FOR_ONE_LEFT_OUT {
        let is_first_farther = middle - others[0] > others[others.len() - 1] - middle;
        others.remove(if is_first_farther { 0 } else { others.len() - 1 });
    }
    let mean = others.iter().sum::<f64>() / others.len() as f64;
    let squares: f64 = others.iter().map(|other| (other - mean).powi(2)).sum();
    let spread = (squares / (others.len() - 1) as f64).sqrt().max(least_spread);
    if spread > 0.0 { (value - mean).abs() / spread } else { 0.0 }
}

/// The distance that the farthest of this number of equal machines exceeds with this chance; infinite where the draws
/// are too few.
fn limit(machines: usize, chance: f64) -> f64 {
    let draws = (BEYOND / chance).clamp(1.0, MOST_DRAWS).ceil();
    // The judged machines are one draw more.
    let beyond = (chance * (draws + 1.0)).floor() as usize;
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut farthest = |_| {
        let mut values: Vec<f64> = (0..machines).map(|_| drawn(&mut random)).collect();
        values.sort_by(f64::total_cmp);
        // The farthest is one of the ends.
        distance(&values, 0, 0.0).max(distance(&values, machines - 1, 0.0))
    };
    let mut all: Vec<f64> = (0..draws as usize).map(&mut farthest).collect();
    all.sort_by(|one, other| other.total_cmp(one));
    beyond.checked_sub(1).and_then(|place| all.get(place)).copied().unwrap_or(f64::INFINITY)
}

/// By the polar method for Student's t (Bailey, "Polar generation of random variates with the t-distribution", 1994).
fn drawn(random: &mut fastrand::Rng) -> f64 {
    // Not 0, which has no power.
    let radius = 1.0 - random.f64();
    (DEGREES * (radius.powf(-2.0 / DEGREES) - 1.0)).sqrt() * (TAU * random.f64()).cos()
}
