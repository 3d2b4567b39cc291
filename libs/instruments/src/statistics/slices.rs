//! Confidence intervals of quantiles of values that came in slices (windows of a measurement), and depend on each
//! other within a slice.
//!
//! Adjacent latencies share their conditions: an interruption delays several, an active neighbour thousands.
//! Intervals that treat them as independent are far too narrow: those of the 99.9 % quantile covered 65 % where 95 %
//! was claimed. The scatter is therefore taken between slices (Woodruff, "Confidence intervals for medians and other
//! position measures", 1952). At the quantile of all values, the shares of values below it differ from slice to
//! slice. The interval of that share, converted back to values, is that of the quantile. Shares near 1 are treated on
//! the scale of their odds, on which an interval cannot exceed 1. The interval is never narrower than that of
//! independent values.

use std::ops::RangeInclusive;
use std::time::Duration;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::interval::Interval;
use super::order::quantile_interval;
use crate::bounded_tally::BoundedTally;
use crate::tally::Tally;

/// Number of slices above which adjacent ones are merged, so that the data of long runs stay small.
const MOST: usize = 32;
/// Least number of slices from which the scatter between them is known.
const FEWEST: usize = 3;
/// Number of distinct values that are stored exactly, in total and in each part.
const EXACT: usize = 1 << 17;

/// Approximate length of a machine's phases: of SMT interference and of other load.
const PHASE: Duration = Duration::from_secs(1);

/// Standard deviation, from one phase of the machine to the next, of the logarithm of the share of values beyond a
/// tail quantile: 0.1 to 2.0 in 62 runs of a second on a shared host, 1.3 for most operations on uncontended locks.
const PHASES_DIFFER_BY: f64 = 1.6;

/// The values of each slice, and of all together.
///
/// # Examples
///
/// ```
/// use instruments::statistics::slices::Slices;
///
/// // Slices in two phases: the uncertainty of the median is the difference of the phases.
/// let mut slices = Slices::default();
/// for slice in 0..10 {
///     let phase = if slice % 2 == 0 { 100 } else { 200 };
///     slices.add((phase..phase + 50).collect());
/// }
/// let interval = slices.interval(0.5, 0.95).unwrap();
/// assert!(interval.low < 130.0 && interval.high > 220.0);
/// ```
#[derive(Clone, Debug)]
pub struct Slices {
    room: usize,
    all: BoundedTally,
    /// Parts of `joined` slices each; the last one may have fewer.
    parts: Vec<BoundedTally>,
    joined: usize,
    in_last: usize,
}

impl Default for Slices {
    fn default() -> Self {
        Self::with_room(EXACT)
    }
}

impl Slices {
    /// Returns slices that are exact for this number of distinct values in total, and for as many in each of the
    /// merged parts.
    pub fn with_room(room: usize) -> Self {
        Self { room, all: BoundedTally::with_room(room), parts: Vec::new(), joined: 0, in_last: 0 }
    }

    /// Adds the values of the next slice.
    pub fn add(&mut self, values: Tally) {
        self.all.add(&values);
        self.joined = self.joined.max(1);
        match self.parts.last_mut() {
            Some(last) if self.in_last < self.joined => last.add(&values),
            _ => {
                let mut part = BoundedTally::with_room(self.room);
                part.add(&values);
                self.parts.push(part);
                self.in_last = 0;
            }
        }
        self.in_last += 1;
        if self.parts.len() > MOST {
            self.join();
        }
    }

    /// Merges adjacent slices. Their number is odd, and the last one remains single, to be filled.
    fn join(&mut self) {
        let joined = self.parts.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            pair[1..].iter().for_each(|other| sum.add(other));
            sum
        });
        self.parts = joined.collect();
        self.joined *= 2;
    }

    /// Returns all values.
    pub fn all(&self) -> &Tally {
        &self.all
    }

    /// Returns the interval of a quantile by the scatter of the slices themselves; `None` for too few values.
    ///
    /// With too few slices for their scatter, it is that of independent values.
    pub fn interval(&self, q: f64, confidence: f64) -> Option<Interval> {
        let independent = quantile_interval(&self.all, q, confidence)?;
        match self.shares(q, confidence) {
            Some(shares) => self.between(shares, independent),
            None => Some(independent),
        }
    }

    /// Returns the interval of a quantile of the values in this range only, for example of a cluster's median.
    ///
    /// The result is `None` if fewer slices contain such values than are needed for the scatter, unless there are no
    /// more slices.
    pub fn interval_within(&self, range: RangeInclusive<u64>, q: f64, confidence: f64) -> Option<Interval> {
        let mut inside = Self::with_room(self.room);
        for part in &self.parts {
            let values = part.between(range.clone());
            if !values.is_empty() {
                inside.add(values);
            }
        }
        let is_seen = inside.parts.len() >= FEWEST.min(self.parts.len());
        is_seen.then(|| inside.interval(q, confidence)).flatten()
    }

    /// Returns the interval of a quantile of the tail, for slices from a run of this length.
    ///
    /// The frequency of disturbances differs by a factor of three from one phase of the machine to the next, which
    /// slices of one phase cannot show.
    pub fn tail_interval(&self, q: f64, confidence: f64, span: Duration) -> Option<Interval> {
        let own = self.interval(q, confidence)?;
        let deviations = Normal::standard().inverse_cdf(0.5 + confidence / 2.0);
        let phases = span.div_duration_f64(PHASE);
        let reach = deviations * PHASES_DIFFER_BY / phases.max(1.0).sqrt();
        self.between(around(q, reach), own)
    }

    /// Returns the values between which these shares of all values are, and at least `least`.
    fn between(&self, (low, high): (f64, f64), least: Interval) -> Option<Interval> {
        let count = self.all.count() as f64;
        if count * low < 1.0 || count * (1.0 - high) < 1.0 {
            return None;
        }
        let at = |share| self.all.quantile(share).map(|value| value as f64);
        Some(Interval::new(at(low)?.min(least.low), at(high)?.max(least.high)))
    }

    /// Returns the shares of all values between which the quantile is.
    fn shares(&self, q: f64, confidence: f64) -> Option<(f64, f64)> {
        let slices = self.parts.len() as f64;
        // If bursts cause the differences, few of the slices have most of the scatter.
        let degrees = ((slices - 1.0) / 2.0).max(1.0);
        let chance = StudentsT::new(0.0, 1.0, degrees).ok().filter(|_| self.parts.len() >= FEWEST)?;
        let value = self.all.quantile(q)?;
        let below = |tally: &Tally| tally.count_between(0..=value) as f64;
        let count = self.all.count() as f64;
        let share = below(&self.all) / count;
        let squares: f64 = self.parts.iter().map(|part| (below(part) - share * part.count() as f64).powi(2)).sum();
        let deviation = (slices / (slices - 1.0) * squares).sqrt() / count;
        let reach = chance.inverse_cdf(0.5 + confidence / 2.0) * deviation / (q * (1.0 - q));
        Some(around(q, reach))
    }
}

/// Returns the shares whose logarithm of the odds is at this distance from that of `q`.
fn around(q: f64, reach: f64) -> (f64, f64) {
    let odds = (q / (1.0 - q)).ln();
    let share_of = |odds: f64| 1.0 / (1.0 + (-odds).exp());
    (share_of(odds - reach), share_of(odds + reach))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_slices_are_joined_and_no_value_is_lost() {
        let mut slices = Slices::default();
        (0..1_000).for_each(|slice| slices.add([slice].into_iter().collect()));
        assert!(slices.parts.len() <= MOST);
        assert_eq!(slices.parts.iter().map(|part| part.count()).sum::<u64>(), 1_000);
        assert!(slices.parts.iter().rev().skip(1).all(|part| part.count() == slices.joined as u64));
    }

    #[test]
    fn equal_slices_give_the_interval_of_independent_values() {
        let mut slices = Slices::default();
        (0..10).for_each(|_| slices.add((0..1_000).collect()));
        assert_eq!(slices.interval(0.5, 0.95), quantile_interval(slices.all(), 0.5, 0.95));
    }

    #[test]
    fn few_phases_give_a_wide_tail_interval() {
        let mut slices = Slices::default();
        (0..10).for_each(|_| slices.add((0..100_000).collect()));
        let width = |seconds| slices.tail_interval(0.99, 0.95, PHASE * seconds).map(|ends| ends.width()).unwrap();
        let own = slices.interval(0.99, 0.95).unwrap().width();
        assert!(own < width(10_000) && width(10_000) < width(10) && width(10) < width(1));
        // One phase with twenty times as many, one with a twentieth: from the 81 % quantile to the 99.96 %.
        assert!((15_000.0..25_000.0).contains(&width(1)), "{}", width(1));
    }

    #[test]
    fn two_slices_give_the_independent_interval() {
        let mut slices = Slices::default();
        slices.add((0..100).collect());
        slices.add((1_000..1_100).collect());
        assert_eq!(slices.interval(0.5, 0.95), quantile_interval(slices.all(), 0.5, 0.95));
    }
}
