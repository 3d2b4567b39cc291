//! Intervals of quantiles of values that came in slices, and depend on each other within one.
//!
//! Neighbouring latencies share their moment: an interruption delays several, a busy neighbour thousands. Intervals
//! that take them as independent are far too narrow: of the 99.9 % quantile they covered 65 % where 95 was claimed. So
//! the scatter is taken between slices (Woodruff, "Confidence intervals for medians and other position measures",
//! 1952): at the quantile of all values, how far do the shares of values below it differ from slice to slice? The
//! interval of that share, turned back into values, is the quantile's. Shares near 1 are treated on the scale of their
//! odds, on which an interval cannot pass 1. The interval is never narrower than that of independent values.

use std::ops::RangeInclusive;

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::interval::Interval;
use super::order::quantile_interval;
use crate::bounded_tally::BoundedTally;
use crate::tally::Tally;

/// More slices than this are joined, neighbours with each other: what long runs keep stays small.
const MOST: usize = 32;
/// Fewer slices say nothing of the scatter between them.
const FEWEST: usize = 3;
/// Different values that are kept exactly, of all and of each part.
const EXACT: usize = 1 << 17;

/// The standard deviation, from one mood of the machine to the next, of the logarithm of the share of values beyond a
/// tail quantile: 0.1 to 2.0 in 62 runs of a second on a shared host, 1.3 for most operations on free locks.
const MOODS_DIFFER_BY: f64 = 1.6;

/// The values of each slice, and of all together.
///
/// ```
/// use instruments::statistics::slices::Slices;
///
/// // Slices in two moods: the median of all is known no better than the moods differ.
/// let mut slices = Slices::default();
/// for slice in 0..10 {
///     let mood = if slice % 2 == 0 { 100 } else { 200 };
///     slices.add((mood..mood + 50).collect());
/// }
/// let interval = slices.interval(0.5, 0.95).unwrap();
/// assert!(interval.low < 130.0 && interval.high > 220.0);
/// ```
#[derive(Clone, Debug)]
pub struct Slices {
    room: usize,
    all: BoundedTally,
    /// Each of `joined` slices, the last of up to so many.
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
    /// Exact for so many different values, and as many in each of the parts that they are joined to.
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

    /// Joins neighbours. There is one slice more than an even number, and it stays alone, to be filled.
    fn join(&mut self) {
        let joined = self.parts.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            pair[1..].iter().for_each(|other| sum.add(other));
            sum
        });
        self.parts = joined.collect();
        self.joined *= 2;
    }

    /// All values.
    pub fn all(&self) -> &Tally {
        &self.all
    }

    /// The interval of a quantile, as far as the slices themselves tell; `None` where there are too few values for one.
    /// With too few slices to see their scatter it is that of independent values.
    pub fn interval(&self, q: f64, confidence: f64) -> Option<Interval> {
        let independent = quantile_interval(&self.all, q, confidence)?;
        match self.shares(q, confidence) {
            Some(shares) => self.between(shares, independent),
            None => Some(independent),
        }
    }

    /// The same of a quantile of the values in this range alone: of a cluster's median, say. `None` where fewer slices
    /// have any of them than it takes to see how they scatter, unless there are no more slices.
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

    /// The interval of a quantile of the tail, where slices are of so many moods of the machine: how often something
    /// disturbs differs by a factor of three from one to the next, which slices of one mood cannot show.
    pub fn tail_interval(&self, q: f64, confidence: f64, moods: f64) -> Option<Interval> {
        let own = self.interval(q, confidence)?;
        let deviations = Normal::standard().inverse_cdf(0.5 + confidence / 2.0);
        let reach = deviations * MOODS_DIFFER_BY / moods.max(1.0).sqrt();
        self.between(around(q, reach), own)
    }

    /// The values between which these shares of all values lie, and at least `least`.
    fn between(&self, (low, high): (f64, f64), least: Interval) -> Option<Interval> {
        let count = self.all.count() as f64;
        if count * low < 1.0 || count * (1.0 - high) < 1.0 {
            return None;
        }
        let at = |share| self.all.quantile(share).map(|value| value as f64);
        Some(Interval::new(at(low)?.min(least.low), at(high)?.max(least.high)))
    }

    /// Between which shares of all values the quantile lies.
    fn shares(&self, q: f64, confidence: f64) -> Option<(f64, f64)> {
        let slices = self.parts.len() as f64;
        // Where bursts are what differs, few of the slices have most of the scatter.
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

/// The shares whose logarithm of the odds is so far from that of `q`.
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
    fn slices_that_are_alike_give_the_interval_of_independent_values() {
        let mut slices = Slices::default();
        (0..10).for_each(|_| slices.add((0..1_000).collect()));
        assert_eq!(slices.interval(0.5, 0.95), quantile_interval(slices.all(), 0.5, 0.95));
    }

    #[test]
    fn few_moods_say_little_of_a_tail() {
        let mut slices = Slices::default();
        (0..10).for_each(|_| slices.add((0..100_000).collect()));
        let width = |moods| slices.tail_interval(0.99, 0.95, moods).map(|ends| ends.width()).unwrap();
        let own = slices.interval(0.99, 0.95).unwrap().width();
        assert!(own < width(1e4) && width(1e4) < width(10.0) && width(10.0) < width(1.0));
        // One mood of twenty times as many, one of a twentieth: from the 81 % quantile to the 99.96 %.
        assert!((15_000.0..25_000.0).contains(&width(1.0)), "{}", width(1.0));
    }

    #[test]
    fn two_slices_say_nothing_of_their_scatter() {
        let mut slices = Slices::default();
        slices.add((0..100).collect());
        slices.add((1_000..1_100).collect());
        assert_eq!(slices.interval(0.5, 0.95), quantile_interval(slices.all(), 0.5, 0.95));
    }
}
