//! Comparison of two runs: whether the second differs from the first.
//!
//! The ratio of two positive values is the difference of their logarithms. It has three sources of error:
//!
//! - Each value is uncertain within its run. Its 95 % confidence interval states the uncertainty, and may extend
//!   further to one side than to the other. The distances that matter for an end of the ratio's interval are squared
//!   and added (Zou and Donner, "Construction of confidence limits about effect measures", 2008).
//! - Another run of the same configuration differs by more than both intervals: its memory layout and the other
//!   guests differ. That scatter ([`RunToRun`]) is a further variance, once for each run. It is itself known from few
//!   runs only. Hence the t distribution, with the degrees of freedom after Welch and Satterthwaite.
//! - The clock advances in steps, and a median is rounded to one. An error of half a step does not average out, so it
//!   is not squared with the others: both values are first moved towards each other by it.
//!
//! Two values without any error (computed, not measured) are different unless they are equal.
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::interval::Interval;
use super::order::{median_of_sorted, sorted};
use super::summary::CONFIDENCE;

/// Distance of the ends of a 95 % interval of a normal distribution from its middle, in standard deviations.
const DEVIATIONS: f64 = 1.959_964;

/// Number of degrees of freedom above which the t distribution does not change.
const MANY: f64 = 1e6;

/// Least number of runs of one configuration from which the scatter between runs is learned.
pub const LEAST_RUNS: usize = 4;

/// A value of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Value, greater than 0.
    pub value: f64,
    /// 95 % confidence interval; without one, the value counts as certain within its run.
    pub interval: Option<Interval>,
    /// Step of the scale from which it was read.
    pub resolution: f64,
}

impl Estimate {
    /// Returns a value whose resolution is far below it.
    pub const fn new(value: f64, interval: Option<Interval>) -> Self {
        Self { value, interval, resolution: 0.0 }
    }
}

impl From<f64> for Estimate {
    fn from(value: f64) -> Self {
        Self::new(value, None)
    }
}

/// The scatter of a value between runs of one configuration, beyond their intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RunToRun {
    /// Standard deviation of its logarithm: 0.02 is two per cent.
    pub deviation: f64,
    /// Degrees of freedom of that estimate: one less than the runs of a set from which it comes.
    pub degrees: f64,
}

impl RunToRun {
    /// No scatter, for computed values.
    pub const NONE: Self = Self { deviation: 0.0, degrees: f64::INFINITY };

    /// Returns the scatter within sets of runs of one configuration, moderated by this general one.
    ///
    /// The general scatter counts as `weight` degrees of freedom (after Smyth, "Linear models and empirical Bayes
    /// methods", 2004), because few runs can be similar by chance. Fewer than [`LEAST_RUNS`] runs change nothing. The
    /// errors of the runs are part of a set's variance, and are subtracted.
    pub fn learned(self, weight: f64, sets: &[Vec<Estimate>]) -> Self {
        let (mut squares, mut degrees, mut runs) = (0.0, 0.0, 0);
        for set in sets.iter().filter(|set| set.len() > 1) {
            let logarithms: Vec<f64> = set.iter().map(|run| run.value.ln()).collect();
            let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
            let set_degrees = (set.len() - 1) as f64;
            // The error of a run whose interval extends to 0 is unknown.
            let errors: Vec<f64> = set.iter().map(Estimate::error).filter(|error| error.is_finite()).collect();
            let within = errors.iter().map(|error| error.powi(2)).sum::<f64>() / errors.len().max(1) as f64;
            squares +=
                (logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>() - within * set_degrees).max(0.0);
            degrees += set_degrees;
            runs += set.len();
        }
        // A scatter that is known for certain is not changed.
        if runs < LEAST_RUNS || self.degrees.is_infinite() || !squares.is_finite() {
            return self;
        }
        let total = weight + degrees;
        Self { deviation: ((weight * self.deviation.powi(2) + squares) / total).sqrt(), degrees: total }
    }
}

/// The largest distances between two runs of the same set, as logarithms; 0 if no set has enough runs.
///
/// They assume no distribution: if runs are on one of two levels, both are included as soon as both were observed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FarthestApart {
    /// Distance between any two runs.
    pub all: f64,
    /// Distance without the run of each set that is the farthest from the set's median; of a set with fewer than eight
    /// runs, all count.
    pub without_farthest: f64,
}

/// The fewest runs of a set without its farthest: of fewer, one run may be half of what is known of a second level.
const FEWEST_WITHOUT_ONE: usize = 8;

impl FarthestApart {
    /// Returns the distances within these sets.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::statistics::comparison::{Estimate, FarthestApart};
    ///
    /// let runs = [10.0, 11.0, 10.0, 12.0, 11.0, 10.0, 12.0, 500.0].map(Estimate::from).to_vec();
    /// let found = FarthestApart::of(&[runs]);
    /// assert!((found.all - 50_f64.ln()).abs() < 1e-9 && (found.without_farthest - 1.2_f64.ln()).abs() < 1e-9);
    /// ```
    pub fn of(sets: &[Vec<Estimate>]) -> Self {
        sets.iter().map(|set| Self::within(set)).fold(Self::default(), |one, other| Self {
            all: one.all.max(other.all),
            without_farthest: one.without_farthest.max(other.without_farthest),
        })
    }

    fn within(set: &[Estimate]) -> Self {
        let logarithms = sorted(&set.iter().map(|run| run.value.ln()).collect::<Vec<_>>());
        let [low, inner @ .., high] = logarithms.as_slice() else { return Self::default() };
        let (Some(next_low), Some(next_high)) = (inner.first(), inner.last()) else {
            return Self { all: high - low, without_farthest: high - low };
        };
        if logarithms.len() < FEWEST_WITHOUT_ONE {
            return Self { all: high - low, without_farthest: high - low };
        }
        let median = median_of_sorted(&logarithms);
        let without_farthest = if high - median >= median - low { next_high - low } else { high - next_low };
        Self { all: high - low, without_farthest }
    }
}

impl Estimate {
    /// Returns the width of its interval as a share of the value, or of its resolution if that is larger. An interval
    /// within a step of the clock is as narrow as possible; without one, the width is infinite.
    pub fn relative_width(&self) -> f64 {
        match self.interval {
            None => f64::INFINITY,
            Some(interval) if interval.width() <= self.resolution => 0.0,
            Some(interval) => interval.relative_width(self.value.max(self.resolution)),
        }
    }

    /// Returns whether two different values differ by less than one step of the clock, so that they cannot be
    /// distinguished.
    pub fn is_within_step(&self, other: &Self) -> bool {
        let difference = (self.value - other.value).abs();
        difference > 0.0 && difference < self.resolution.max(other.resolution)
    }

    /// Returns the standard deviation of its logarithm within the run, including the step of the clock.
    pub fn error(&self) -> f64 {
        let half = self.interval.map_or(0.0, |ends| (ends.high.ln() - ends.low.ln()).abs() / 2.0 / DEVIATIONS);
        // If an end is not above 0, the value contains no information about other runs.
        if half.is_finite() { half.hypot(self.resolution / 2.0 / self.value) } else { f64::INFINITY }
    }

    /// Returns the value moved by this number of steps of the clock; `None` if that is not above 0.
    fn moved(&self, steps: f64) -> Option<Self> {
        let by = steps * self.resolution;
        let interval = self.interval.map(|ends| Interval::new(ends.low + by, ends.high + by));
        let low = interval.map_or(f64::INFINITY, |ends| ends.low).min(self.value + by);
        (low > 0.0).then_some(Self { value: self.value + by, interval, resolution: self.resolution })
    }

    /// Returns the distances by which its logarithm may be lower and higher.
    fn reaches(&self) -> (f64, f64) {
        let reach = |ends: Interval| ((self.value / ends.low).ln().max(0.0), (ends.high / self.value).ln().max(0.0));
        self.interval.map_or((0.0, 0.0), reach)
    }
}

/// The ratio of two values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Measured ratio.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio. It starts at 0, or has no end, if a value is not significantly
    /// different from 0.
    pub interval: Interval,
    /// Probability that two runs of one configuration differ at least as much.
    pub p: f64,
}

/// Returns `over` divided by `under`; `None` if either is not above 0.
///
/// # Examples
///
/// ```
/// use instruments::statistics::comparison::{Estimate, RunToRun, compare};
/// use instruments::statistics::Interval;
///
/// let estimate = |value, low, high| Estimate { value, interval: Some(Interval::new(low, high)), resolution: 0.0 };
/// let scatter = RunToRun { deviation: 0.01, degrees: 10.0 };
/// let slower = compare(&estimate(100.0, 99.0, 101.0), &estimate(110.0, 109.0, 112.0), scatter).unwrap();
/// assert!(slower.interval.low > 1.05 && slower.p < 0.001);
/// let same = compare(&estimate(100.0, 99.0, 101.0), &estimate(102.0, 101.0, 104.0), scatter).unwrap();
/// assert!(same.interval.contains(1.0) && same.p > 0.05);
/// ```
pub fn compare(under: &Estimate, over: &Estimate, run_to_run: RunToRun) -> Option<Comparison> {
    if !(under.value > 0.0 && over.value > 0.0) {
        return None;
    }
    let (more, fewer) = (side(under, over, run_to_run), side(over, under, run_to_run));
    let interval = Interval::new(more.least.exp(), (-fewer.least).exp());
    Some(Comparison { ratio: over.value / under.value, interval, p: more.p.min(fewer.p) })
}

/// One side of a ratio.
struct Side {
    /// Least possible logarithm of `over` by `under`.
    least: f64,
    /// Probability of a difference as large by chance; 1 if `over` is not larger.
    p: f64,
}

fn side(under: &Estimate, over: &Estimate, run_to_run: RunToRun) -> Side {
    let (Some(under), Some(over)) = (under.moved(0.5), over.moved(-0.5)) else {
        return Side { least: f64::NEG_INFINITY, p: 1.0 };
    };
    let difference = over.value.ln() - under.value.ln();
    let within = (over.reaches().0.powi(2) + under.reaches().1.powi(2)) / DEVIATIONS.powi(2);
    let between = 2.0 * run_to_run.deviation.powi(2);
    let variance = within + between;
    if variance == 0.0 {
        return Side { least: difference, p: if difference > 0.0 { 0.0 } else { 1.0 } };
    }
    // The intervals' own degrees of freedom are many.
    let degrees = (run_to_run.degrees * (variance / between).powi(2)).clamp(1.0, MANY);
    let Ok(chance) = StudentsT::new(0.0, 1.0, degrees) else { return Side { least: f64::NEG_INFINITY, p: 1.0 } };
    let least = difference - chance.inverse_cdf(0.5 + CONFIDENCE / 2.0) * variance.sqrt();
    let p = if difference > 0.0 { 2.0 * chance.sf(difference / variance.sqrt()) } else { 1.0 };
    Side { least, p }
}
