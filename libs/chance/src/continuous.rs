//! Continuous sources, each by its cumulative distribution and the inverse of that.
use crate::Error;

/// A continuous distribution: simulated through its quantiles, enumerated once cut by
/// [`Distribution::binned`](crate::Distribution::binned).
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
    /// The probability of `x` or less.
    fn cdf(&self, x: f64) -> f64;

    /// The least value that is reached with probability `p`, for `p` in `[0, 1)`.
    fn quantile(&self, p: f64) -> f64;
}

/// Every value between two bounds alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uniform {
    low: f64,
    high: f64,
}

impl Uniform {
    /// Between `low` and `high`.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless both are finite and `low` is less than `high`.
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

/// The wait for the next of events that come at a constant rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exponential {
    mean: f64,
}

impl Exponential {
    /// With this mean wait.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless it is a positive number.
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

/// A heavy tail: P(more than x) = (least / x)^shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pareto {
    least: f64,
    shape: f64,
}

impl Pareto {
    /// With this least value and shape; the mean is infinite for shapes up to 1, the variance up to 2.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless both are positive numbers.
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
