//! Continuous sources, each defined by its cumulative distribution and the inverse of it.
use crate::Error;

/// A continuous distribution: simulated through its quantiles, and enumerated after
/// [`Distribution::binned`](crate::Distribution::binned) has cut it into cells.
///
/// # Examples
///
/// ```
/// use chance::{Continuous, Exponential, Pareto, Uniform};
/// let uniform = Uniform::between(2.0, 4.0)?;
/// let wait = Exponential::with_mean(10.0)?;
/// let tail = Pareto::from(1.0, 3.0)?;
/// for p in [0.0, 0.1, 0.5, 0.999] {
///     assert!((uniform.cdf(uniform.quantile(p)) - p).abs() < 1e-12);
///     assert!((wait.cdf(wait.quantile(p)) - p).abs() < 1e-12);
///     assert!((tail.cdf(tail.quantile(p)) - p).abs() < 1e-12);
/// }
/// assert!(Exponential::with_mean(-1.0).is_err());
/// # Ok::<(), chance::Error>(())
/// ```
pub trait Continuous {
    /// Returns the probability of `x` or less.
    fn cdf(&self, x: f64) -> f64;

    /// Returns the least value that is reached with probability `p`, for `p` in `[0, 1)`.
    fn quantile(&self, p: f64) -> f64;
}

/// The uniform distribution between two bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uniform {
    low: f64,
    high: f64,
}

impl Uniform {
    /// Creates the distribution between `low` and `high`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BadParameter`] unless both are finite and `low` is less than `high`.
    pub fn between(low: f64, high: f64) -> Result<Self, Error> {
        if low < high && (high - low).is_finite() {
            return Ok(Self { low, high });
        }
        Err(Error::BadParameter { name: "high", value: high, allowed: "a finite number above `low`" })
    }
}

impl Continuous for Uniform {
    fn cdf(&self, x: f64) -> f64 {
        ((x - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn quantile(&self, p: f64) -> f64 {
        self.low + p * (self.high - self.low)
    }
}

/// The exponential distribution: the wait for the next of events that come at a constant rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exponential {
    mean: f64,
}

impl Exponential {
    /// Creates the distribution with this mean.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BadParameter`] unless `mean` is a positive number.
    pub fn with_mean(mean: f64) -> Result<Self, Error> {
        Ok(Self { mean: positive("mean", mean)? })
    }
}

impl Continuous for Exponential {
    fn cdf(&self, x: f64) -> f64 {
        -(-x.max(0.0) / self.mean).exp_m1()
    }

    fn quantile(&self, p: f64) -> f64 {
        -self.mean * (-p).ln_1p()
    }
}

/// The Pareto distribution, which has a heavy tail: P(more than x) = (least / x)^shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pareto {
    least: f64,
    shape: f64,
}

impl Pareto {
    /// Creates the distribution with this least value and shape.
    ///
    /// The mean is infinite for shapes up to 1, the variance for shapes up to 2.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BadParameter`] unless both are positive numbers.
    pub fn from(least: f64, shape: f64) -> Result<Self, Error> {
        Ok(Self { least: positive("least", least)?, shape: positive("shape", shape)? })
    }
}

impl Continuous for Pareto {
    fn cdf(&self, x: f64) -> f64 {
        if x <= self.least { 0.0 } else { -(self.shape * (self.least / x).ln()).exp_m1() }
    }

    fn quantile(&self, p: f64) -> f64 {
        self.least * (-(-p).ln_1p() / self.shape).exp()
    }
}

fn positive(name: &'static str, value: f64) -> Result<f64, Error> {
    let sound = value > 0.0 && value.is_finite();
    if sound { Ok(value) } else { Err(Error::BadParameter { name, value, allowed: "a positive number" }) }
}
