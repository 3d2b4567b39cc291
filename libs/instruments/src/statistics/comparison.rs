//! Is the second of two runs different from the first?
//!
//! The ratio of two positive figures is the difference of their logarithms. Three things keep it from being exact:
//!
//! - each figure is uncertain within its run. Its 95 % interval says how much, and may reach further to one side than
//!   to the other; the distances that matter for an end of the ratio's interval are squared and added (Zou and Donner,
//!   "Construction of confidence limits about effect measures", 2008).
//! - another run of the same thing comes out differently, by more than the intervals of either say: memory lies
//!   elsewhere, the neighbours are others. That scatter ([`RunToRun`]) is a variance more, once for each run, and is
//!   itself known from few runs only, hence the t distribution, with the degrees of freedom after Welch and
//!   Satterthwaite.
//! - the clock advances in steps, and a median is rounded to one. An error of half a step does not average out, so it
//!   is not squared with the others: both figures are first moved towards each other by it.
//!
//! Two figures without any error (computed, not measured) are different as soon as they are not equal.
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::interval::Interval;
use super::summary::CONFIDENCE;

/// The ends of a 95 % interval of a normal distribution lie so many standard deviations from its middle.
const DEVIATIONS: f64 = 1.959_964;

/// More degrees of freedom than this make no difference to the t distribution.
const MANY: f64 = 1e6;

/// Fewer runs of the same say nothing of how much such runs differ.
pub const LEAST_RUNS: usize = 4;

/// A figure of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// More than 0.
    pub value: f64,
    /// Its 95 % interval; without one it is taken as certain within its run.
    pub interval: Option<Interval>,
    /// The step of what it was read from.
    pub resolution: f64,
}

impl Estimate {
    /// A figure whose resolution is far below it.
    pub const fn new(value: f64, interval: Option<Interval>) -> Self {
        Self { value, interval, resolution: 0.0 }
    }
}

impl From<f64> for Estimate {
    fn from(value: f64) -> Self {
        Self::new(value, None)
    }
}

/// How much a figure differs between runs of the same thing, beyond what their intervals say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RunToRun {
    /// The standard deviation of its logarithm: 0.02 is two per cent.
    pub deviation: f64,
    /// How well that is known: in degrees of freedom, one less than the runs of a set that it comes from.
    pub degrees: f64,
}

impl RunToRun {
    /// For what is computed.
    pub const NONE: Self = Self { deviation: 0.0, degrees: f64::INFINITY };

    /// The scatter within sets of runs of the same thing, moderated by this general one, which counts as `weight`
    /// degrees of freedom (after Smyth, "Linear models and empirical Bayes methods", 2004): few runs can look alike by
    /// luck. Fewer than [`LEAST_RUNS`] runs change nothing.
    ///
    /// The errors of the runs are part of a set's variance, and are subtracted.
    pub fn learned(self, weight: f64, sets: &[Vec<Estimate>]) -> Self {
        let (mut squares, mut degrees, mut runs) = (0.0, 0.0, 0);
        for set in sets.iter().filter(|set| set.len() > 1) {
            let logarithms: Vec<f64> = set.iter().map(|run| run.value.ln()).collect();
            let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
            let of_set = (set.len() - 1) as f64;
            // A run whose interval reaches to 0 says nothing of how large the errors are.
            let errors: Vec<f64> = set.iter().map(Estimate::error).filter(|error| error.is_finite()).collect();
            let within = errors.iter().map(|error| error.powi(2)).sum::<f64>() / errors.len().max(1) as f64;
            squares += (logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>() - within * of_set).max(0.0);
            degrees += of_set;
            runs += set.len();
        }
        // What is known for certain is not learned anew.
        if runs < LEAST_RUNS || self.degrees.is_infinite() || !squares.is_finite() {
            return self;
        }
        let total = weight + degrees;
        Self { deviation: ((weight * self.deviation.powi(2) + squares) / total).sqrt(), degrees: total }
    }
}

/// The largest distance between two runs of the same set, as a logarithm; 0 where no set has two.
///
/// It assumes no distribution: where runs come out at one of two levels, both are in it as soon as both were met.
pub fn farthest_apart(sets: &[Vec<Estimate>]) -> f64 {
    let of_set = |set: &Vec<Estimate>| {
        let logarithms = set.iter().map(|run| run.value.ln());
        let (low, high) =
            logarithms.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (value.min(low), value.max(high)));
        high - low
    };
    sets.iter().map(of_set).fold(0.0, f64::max)
}

impl Estimate {
    /// The width of its interval as a share of it; of a figure below its resolution, as a share of that. An interval
    /// within a step of the clock is as narrow as can be; without one it is infinitely wide.
    pub fn relative_width(&self) -> f64 {
        match self.interval {
            None => f64::INFINITY,
            Some(interval) if interval.width() <= self.resolution => 0.0,
            Some(interval) => interval.relative_width(self.value.max(self.resolution)),
        }
    }

    /// The standard deviation of its logarithm within the run, the step of the clock included.
    pub fn error(&self) -> f64 {
        let half = self.interval.map_or(0.0, |ends| (ends.high.ln() - ends.low.ln()).abs() / 2.0 / DEVIATIONS);
        // Where an end is not above 0 the figure says nothing of other runs.
        if half.is_finite() { half.hypot(self.resolution / 2.0 / self.value) } else { f64::INFINITY }
    }

    /// Moved by so many steps of the clock; `None` where that leaves nothing.
    fn moved(&self, steps: f64) -> Option<Self> {
        let by = steps * self.resolution;
        let interval = self.interval.map(|ends| Interval::new(ends.low + by, ends.high + by));
        let low = interval.map_or(f64::INFINITY, |ends| ends.low).min(self.value + by);
        (low > 0.0).then_some(Self { value: self.value + by, interval, resolution: self.resolution })
    }

    /// How far its logarithm may be lower, and how far higher.
    fn reaches(&self) -> (f64, f64) {
        let reach = |ends: Interval| ((self.value / ends.low).ln().max(0.0), (ends.high / self.value).ln().max(0.0));
        self.interval.map_or((0.0, 0.0), reach)
    }
}

/// One figure over another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// As measured.
    pub ratio: f64,
    /// Its 95 % interval. From 0 on, or without end, where a figure is not told from 0.
    pub interval: Interval,
    /// How often two runs of the same thing would come out at least so different.
    pub p: f64,
}

/// `over` divided by `under`; `None` where either is not above 0.
///
/// ```
/// use instruments::statistics::comparison::{Estimate, RunToRun, compare};
/// use instruments::statistics::Interval;
///
/// let figure = |value, low, high| Estimate { value, interval: Some(Interval::new(low, high)), resolution: 0.0 };
/// let scatter = RunToRun { deviation: 0.01, degrees: 10.0 };
/// let slower = compare(&figure(100.0, 99.0, 101.0), &figure(110.0, 109.0, 112.0), scatter).unwrap();
/// assert!(slower.interval.low > 1.05 && slower.p < 0.001);
/// let same = compare(&figure(100.0, 99.0, 101.0), &figure(102.0, 101.0, 104.0), scatter).unwrap();
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
    /// The least that the logarithm of `over` by `under` may be.
    least: f64,
    /// Of a difference as large, were there none; 1 where `over` is not larger.
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
