//! A range of values, such as a confidence interval.
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The values from `low` to `high`, inclusive. Records contain `[low, high]`.
///
/// # Examples
///
/// ```
/// use instruments::statistics::Interval;
///
/// let interval = Interval::new(95.0, 105.0);
/// assert!(interval.contains(105.0));
/// assert_eq!(interval.width(), 10.0);
/// assert_eq!(interval.relative_width(100.0), 0.1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Returns the interval from `low` to `high`.
    pub fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// Returns the interval of the mean of `count` independent values with this standard deviation, by Student's
    /// distribution; `None` for fewer than two.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::statistics::Interval;
    ///
    /// let interval = Interval::of_mean(10.0, 1.0, 4, 0.95).unwrap();
    /// assert!((interval.high - (10.0 + 3.182 / 2.0)).abs() < 1e-3);
    /// ```
    pub fn of_mean(mean: f64, deviation: f64, count: u64, confidence: f64) -> Option<Self> {
        let chance = StudentsT::new(0.0, 1.0, count.checked_sub(1)? as f64).ok()?;
        let half = chance.inverse_cdf(0.5 + confidence / 2.0) * deviation / (count as f64).sqrt();
        Some(Self::new(mean - half, mean + half))
    }

    /// Returns whether `value` is inside the interval or at an end.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Returns the distance between the ends.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Returns the width as a share of the magnitude of `estimate`.
    ///
    /// The result is infinite for an estimate of zero, unless the interval is a single point, whose relative width is
    /// always 0.
    pub fn relative_width(&self, estimate: f64) -> f64 {
        let width = self.width();
        if width == 0.0 { 0.0 } else { width / estimate.abs() }
    }

    /// Returns the interval with both ends multiplied by `factor`, to change the unit; a negative factor swaps them.
    pub fn scaled(&self, factor: f64) -> Self {
        let (a, b) = (self.low * factor, self.high * factor);
        Self::new(a.min(b), a.max(b))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Interval {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Interval".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "The lower and the upper bound; an unknown bound is null.",
            "type": "array", "items": {"type": ["number", "null"]}, "minItems": 2, "maxItems": 2
        })
    }
}

impl From<[f64; 2]> for Interval {
    fn from([low, high]: [f64; 2]) -> Self {
        Self { low, high }
    }
}

impl From<Interval> for [f64; 2] {
    fn from(interval: Interval) -> Self {
        [interval.low, interval.high]
    }
}
