//! Exact counts of values, without buckets.
//!
//! Latencies come from a clock that advances in steps, so millions of samples have few distinct values. Storing each
//! distinct value with its count is therefore exact and small. Every quantile is a latency that was measured, never
//! the edge of a bucket.
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Values below this are counted in a table; only the few values above are sorted.
const DENSE: usize = 1 << 16;

/// Number of values below which clearing and reading the table costs more than sorting.
const DENSE_PAYS_FROM: usize = 1 << 13;

/// Ratio of existing to new values above which the new ones are inserted one by one.
const FEW: usize = 64;

/// Relative distance above an integer within which the product of a quantile and a count means that integer:
/// `0.07 * 100.0` is `7.000000000000001`, yet the 7th value is meant.
const ROUNDING: f64 = 1e-12;

/// The number of times that each value was seen, sorted by value.
///
/// The caller defines the unit: clock ticks, nanoseconds. A clone shares the data until one of the two changes.
///
/// # Examples
///
/// ```
/// use instruments::tally::Tally;
///
/// let tally: Tally = [30, 10, 20, 10].into_iter().collect();
/// assert_eq!(tally.count(), 4);
/// assert_eq!(tally.quantile(0.5), Some(10));
/// assert_eq!(tally.iter().collect::<Vec<_>>(), [(10, 2), (20, 1), (30, 1)]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Strictly increasing values, each with a count of at least one.
    runs: Arc<Vec<(u64, u64)>>,
    count: u64,
}

impl Tally {
    /// Returns an empty tally.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a tally from values with counts, in any order; repeated values add up, and zero counts vanish.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::tally::Tally;
    ///
    /// let tally = Tally::from_counts([(20, 1), (10, 2), (20, 4)]);
    /// assert_eq!(tally.iter().collect::<Vec<_>>(), [(10, 2), (20, 5)]);
    /// ```
    pub fn from_counts(counts: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut runs: Vec<(u64, u64)> = counts.into_iter().filter(|&(_, count)| count > 0).collect();
        runs.sort_unstable_by_key(|&(value, _)| value);
        runs.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(later.1);
            }
            same
        });
        Self::from_runs(runs)
    }

    /// Wraps runs that are already sorted, merged and not empty.
    fn from_runs(runs: Vec<(u64, u64)>) -> Self {
        let count = total(&runs);
        Self { runs: Arc::new(runs), count }
    }

    /// Adds a value that was seen `count` times.
    ///
    /// For many values, [`Self::add_values`] or [`Self::merge`] is faster.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::tally::Tally;
    ///
    /// let mut tally = Tally::new();
    /// tally.add(7, 2);
    /// tally.add(7, 1);
    /// assert_eq!(tally.iter().collect::<Vec<_>>(), [(7, 3)]);
    /// ```
    pub fn add(&mut self, value: u64, count: u64) {
        if count == 0 {
            return;
        }
        let runs = Arc::make_mut(&mut self.runs);
        match runs.binary_search_by_key(&value, |&(known, _)| known) {
            Ok(place) => runs[place].1 = runs[place].1.saturating_add(count),
            Err(place) => runs.insert(place, (value, count)),
        }
        self.count = self.count.saturating_add(count);
    }

    /// Adds many values at once, such as millions of raw samples; changes the order of `values`.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::tally::Tally;
    ///
    /// let mut tally = Tally::new();
    /// tally.add_values(&mut [7, 100_000, 7]);
    /// assert_eq!(tally.iter().collect::<Vec<_>>(), [(7, 2), (100_000, 1)]);
    /// ```
    pub fn add_values(&mut self, values: &mut [u32]) {
        let mut runs = Vec::new();
        let mut rest = values;
        if rest.len() >= DENSE_PAYS_FROM {
            let mut dense = vec![0_u64; DENSE];
            let mut large = 0;
            for index in 0..rest.len() {
                let value = rest[index];
                match dense.get_mut(value as usize) {
                    Some(count) => *count += 1,
                    None => {
                        rest.swap(large, index);
                        large += 1;
                    }
                }
            }
            runs.extend((0_u64..).zip(dense).filter(|&(_, count)| count > 0));
            rest = &mut rest[..large];
        }
        rest.sort_unstable();
        runs.extend(rest.chunk_by(|a, b| a == b).map(|run| (u64::from(run[0]), run.len() as u64)));
        self.merge(&Self::from_runs(runs));
    }

    /// Adds all values of `other`.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::tally::Tally;
    ///
    /// let mut tally: Tally = [1, 3].into_iter().collect();
    /// tally.merge(&[2, 3].into_iter().collect());
    /// assert_eq!(tally.iter().collect::<Vec<_>>(), [(1, 1), (2, 1), (3, 2)]);
    /// ```
    pub fn merge(&mut self, other: &Tally) {
        if self.is_empty() {
            *self = other.clone();
        } else if other.distinct() * FEW < self.distinct() {
            other.iter().for_each(|(value, count)| self.add(value, count));
        } else if !other.is_empty() {
            *self = Self::from_counts(self.iter().chain(other.iter()));
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether the tally is empty.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the smallest value.
    pub fn min(&self) -> Option<u64> {
        self.runs.first().map(|&(value, _)| value)
    }

    /// Returns the largest value.
    pub fn max(&self) -> Option<u64> {
        self.runs.last().map(|&(value, _)| value)
    }

    /// Returns the `rank`-th smallest value, counted from 1; `None` if there is no such rank.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::tally::Tally;
    ///
    /// let tally: Tally = [30, 10, 20].into_iter().collect();
    /// assert_eq!(tally.at_rank(1), Some(10));
    /// assert_eq!(tally.at_rank(3), Some(30));
    /// assert_eq!(tally.at_rank(0), None);
    /// assert_eq!(tally.at_rank(4), None);
    /// ```
    pub fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut left = rank.checked_sub(1)?;
        for (value, count) in self.iter() {
            if left < count {
                return Some(value);
            }
            left -= count;
        }
        None
    }

    /// Returns the quantile by nearest rank: the `ceil(q * count)`-th smallest value, so always a value that was
    /// seen.
    ///
    /// `q` is treated as 0 below 0 (the minimum) and as 1 above 1 (the maximum). The result is `None` if the tally is
    /// empty or `q` is not a number.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::tally::Tally;
    ///
    /// let tally: Tally = (1..=100).collect();
    /// assert_eq!(tally.quantile(0.5), Some(50));
    /// assert_eq!(tally.quantile(0.07), Some(7));
    /// assert_eq!(tally.quantile(0.999), Some(100));
    /// ```
    pub fn quantile(&self, q: f64) -> Option<u64> {
        if q.is_nan() || self.is_empty() {
            return None;
        }
        self.at_rank(nearest_rank(q, self.count))
    }

    /// Returns the number of distinct values.
    pub fn distinct(&self) -> usize {
        self.runs.len()
    }

    /// Returns the arithmetic mean.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.iter().map(|(value, count)| value as f64 * count as f64).sum();
        (!self.is_empty()).then(|| sum / self.count as f64)
    }

    /// Returns each value with its count, in increasing order of values.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + Clone + '_ {
        self.runs.iter().copied()
    }

    /// Returns the tally of the values within `range`.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::tally::Tally;
    ///
    /// let tally: Tally = (1..=100).collect();
    /// assert_eq!(tally.between(10..=19).count(), 10);
    /// assert_eq!(tally.count_between(95..=200), 6);
    /// ```
    pub fn between(&self, range: RangeInclusive<u64>) -> Tally {
        Self::from_runs(self.runs_between(range).to_vec())
    }

    /// Returns the number of values within `range`.
    pub fn count_between(&self, range: RangeInclusive<u64>) -> u64 {
        total(self.runs_between(range))
    }

    fn runs_between(&self, range: RangeInclusive<u64>) -> &[(u64, u64)] {
        let from = self.runs.partition_point(|&(value, _)| value < *range.start());
        let to = self.runs.partition_point(|&(value, _)| value <= *range.end());
        self.runs.get(from..to).unwrap_or_default()
    }

    /// Returns the tally of `change(value)` for every value: ticks to nanoseconds, or a constant subtracted.
    ///
    /// Values that become equal are merged; `change` need not preserve the order.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::tally::Tally;
    ///
    /// let ticks: Tally = [5, 26, 52, 52].into_iter().collect();
    /// let net = ticks.map_values(|value| value.saturating_sub(26));
    /// assert_eq!(net.iter().collect::<Vec<_>>(), [(0, 2), (26, 2)]);
    /// ```
    pub fn map_values(&self, mut change: impl FnMut(u64) -> u64) -> Tally {
        Self::from_counts(self.iter().map(|(value, count)| (change(value), count)))
    }
}

/// Returns the sum of all counts. No measurement counts to 2^64, but a record that claims so must not end the
/// program.
fn total(runs: &[(u64, u64)]) -> u64 {
    runs.iter().fold(0, |sum, &(_, count)| sum.saturating_add(count))
}

/// Returns the rank, counted from 1, of the quantile `q` among `count` values; `count` must not be zero.
pub(crate) fn nearest_rank(q: f64, count: u64) -> u64 {
    let rank = (q * count as f64 * (1.0 - ROUNDING)).ceil();
    // A cast from float to integer saturates, so any q leads to an existing rank.
    (rank as u64).clamp(1, count)
}

impl FromIterator<u64> for Tally {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let mut counts = BTreeMap::new();
        for value in values {
            *counts.entry(value).or_insert(0_u64) += 1;
        }
        Self::from_runs(counts.into_iter().collect())
    }
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.runs.serialize(serializer)
    }
}

/// Accepts pairs in any order, since another program or a person may have written or edited the record.
impl<'de> Deserialize<'de> for Tally {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pairs = Vec::<(u64, u64)>::deserialize(deserializer)?;
        let total = pairs.iter().try_fold(0_u64, |sum, &(_, count)| sum.checked_add(count));
        total.ok_or_else(|| D::Error::custom("the counts of the tally exceed 64 bits"))?;
        Ok(Self::from_counts(pairs))
    }
}
