//! Detection of steps in a series of values.
//!
//! The series is treated as constant between steps, on logarithms: a step is a ratio. Among all ways to cut it, the
//! selected one has the least distances from the medians of its pieces, where each cut costs a penalty. The penalty
//! grows with the logarithm of the length, as in Schwarz's criterion (optimal partitioning: Jackson and others, "An
//! algorithm for optimal partitioning of data on an interval", 2005). Distances, not their squares, are used, so that
//! a single outlier does not justify two cuts. The unit is the noise of the series, from the differences of adjacent
//! values, which a step changes in one position only.
//!
//! A piece has at least three values, so that a step is detected with the third value after it.
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::bootstrap::Ratio;
use super::interval::Interval;
use super::order::median;
use super::summary::CONFIDENCE;

/// Least number of values of a piece.
const SHORTEST: usize = 3;

/// Median of the distances of normal values from their mean, in standard deviations.
const MEDIAN_DISTANCE: f64 = 0.674_490;

/// Mean of those distances.
const MEAN_DISTANCE: f64 = 0.797_885;

/// Ratio of the scatter of the median of n normal values to that of their mean.
const MEDIAN_OVER_MEAN: f64 = 1.253_314;

/// Least gain of a cut as a multiple of the logarithm of the length, in mean distances; it is larger for fewer
/// values, from which the noise is less certain. In pure noise, normal or with the tails of a t distribution, fewer
/// than one series in twenty then has a cut.
const PENALTY: f64 = 2.0;
const PENALTY_OF_FEW: f64 = 30.0;

/// Tolerance far above the last digits of a cost, and far below a cost.
const ROUNDING: f64 = 1e-9;

/// Scatter of logarithms that counts as none.
const NO_NOISE: f64 = 1e-9;

/// A piece of a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// Position of its first value.
    pub from: usize,
    /// Position after its last value.
    pub to: usize,
    /// Median of its values.
    pub median: f64,
    /// 95 % confidence interval of the median, if all pieces have the same scatter.
    pub interval: Option<Interval>,
    /// Ratio of the median to that of the previous piece. Its interval does not include the choice of the position,
    /// and is slightly too narrow for that reason.
    pub step: Option<Ratio>,
}

/// Returns the pieces of a series of positive values; `noise` is the least scatter of its logarithms, if it is known.
///
/// # Examples
///
/// ```
/// use instruments::statistics::steps::levels;
///
/// let series = [10.0, 10.1, 9.9, 10.0, 10.1, 12.0, 12.1, 11.9, 12.0];
/// let found = levels(&series, 0.0);
/// assert_eq!(found.len(), 2);
/// assert_eq!(found[1].from, 5);
/// assert!(found[1].step.unwrap().interval.contains(1.2));
/// ```
pub fn levels(values: &[f64], noise: f64) -> Vec<Level> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let ends = cuts(&logarithms, noise);
    let pieces: Vec<Piece> = ends.windows(2).map(|ends| Piece::of(&logarithms, ends[0], ends[1])).collect();
    let reach = reach(&pieces, noise);
    let interval = |middle: f64, shares: f64| {
        let reach = reach? * shares.sqrt();
        Some(Interval::new((middle - reach).exp(), (middle + reach).exp()))
    };
    let level = |(place, piece): (usize, &Piece)| {
        let step = place.checked_sub(1).map(|before| &pieces[before]).and_then(|before| {
            let difference = piece.middle - before.middle;
            let interval = interval(difference, before.share() + piece.share())?;
            Some(Ratio { estimate: difference.exp(), interval })
        });
        let interval = interval(piece.middle, piece.share());
        Level { from: piece.from, to: piece.to, median: piece.middle.exp(), interval, step }
    };
    pieces.iter().enumerate().map(level).collect()
}

/// A piece of the logarithms.
struct Piece {
    from: usize,
    to: usize,
    middle: f64,
    /// Sum of the squared distances from the middle.
    squares: f64,
}

impl Piece {
    fn of(logarithms: &[f64], from: usize, to: usize) -> Self {
        let values = &logarithms[from..to];
        let middle = median(values).unwrap_or(f64::NAN);
        Self { from, to, middle, squares: values.iter().map(|value| (value - middle).powi(2)).sum() }
    }

    /// Returns the variance of its mean, in variances of a value.
    fn share(&self) -> f64 {
        1.0 / (self.to - self.from) as f64
    }
}

/// Returns the half-width of the interval of the median of a single value at 95 %; `None` without degrees of freedom.
fn reach(pieces: &[Piece], noise: f64) -> Option<f64> {
    let degrees = pieces.last()?.to.saturating_sub(pieces.len()) as f64;
    let chance = StudentsT::new(0.0, 1.0, degrees).ok()?;
    let squares: f64 = pieces.iter().map(|piece| piece.squares).sum();
    let deviation = (squares / degrees).sqrt().max(noise);
    Some(chance.inverse_cdf(0.5 + CONFIDENCE / 2.0) * MEDIAN_OVER_MEAN * deviation)
}

/// Returns the positions at which pieces begin, and the end of the last.
fn cuts(values: &[f64], noise: f64) -> Vec<usize> {
    let n = values.len();
    let unit = deviation(values).max(noise).max(NO_NOISE) * MEAN_DISTANCE;
    let penalty = PENALTY * (n as f64).ln() + PENALTY_OF_FEW / n as f64;
    // By end: the least cost of all values before it, and the start of the last piece.
    let mut best = vec![(f64::INFINITY, 0); n + 1];
    best[0] = (-penalty, 0);
    for from in 0..n {
        if best[from].0 == f64::INFINITY {
            continue;
        }
        let mut piece = Growing::default();
        for to in from + 1..=n {
            piece.add(values[to - 1]);
            let cost = best[from].0 + penalty + piece.distances / unit;
            let allowed = to - from >= SHORTEST || (from == 0 && to == n);
            if allowed && is_less(cost, best[to].0) {
                best[to] = (cost, from);
            }
        }
    }
    let mut cuts: Vec<usize> = std::iter::successors(Some(n), |to| (*to > 0).then(|| best[*to].1)).collect();
    cuts.reverse();
    cuts
}

/// Returns whether `cost` is less by more than rounding. Distances from medians are often equal for several cuts, and
/// then the first position is selected, in any unit of the values.
fn is_less(cost: f64, best: f64) -> bool {
    cost < best - ROUNDING * best.abs().clamp(1.0, f64::MAX)
}

/// Returns the standard deviation of the noise, from the differences of adjacent values.
fn deviation(values: &[f64]) -> f64 {
    let differences: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    median(&differences).unwrap_or(0.0) / MEDIAN_DISTANCE / std::f64::consts::SQRT_2
}

/// Values and the sum of their distances from their median.
#[derive(Default)]
struct Growing {
    sorted: Vec<f64>,
    distances: f64,
}

impl Growing {
    /// Adds a value: the sum grows by its distance from the median, or from the middle two, between which any value
    /// is a median.
    fn add(&mut self, value: f64) {
        let n = self.sorted.len();
        if n > 0 {
            let (low, high) = (self.sorted[(n - 1) / 2], self.sorted[n / 2]);
            self.distances += (low - value).max(value - high).max(0.0);
        }
        let place = self.sorted.partition_point(|other| *other < value);
        self.sorted.insert(place, value);
    }
}
