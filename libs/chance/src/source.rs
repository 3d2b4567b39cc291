//! Finite sources of draws: weighted lists and recorded samples.

use crate::Error;
use crate::weight::PARTS;
use fastrand::Rng;

/// Outcomes with whole-number weights, for [`Chance::draw`](crate::Chance::draw).
///
/// A simulated draw takes constant time for any number of outcomes. An enumeration takes each outcome once, with its
/// exact weight.
///
/// # Examples
///
/// ```
/// use chance::{Chance, Distribution, Source};
///
/// let loaded = Source::weighted([("heads", 2), ("tails", 1)])?;
/// let twice = |chance: &mut Chance| (*chance.draw(&loaded), *chance.draw(&loaded));
/// assert_eq!(Distribution::exact(&twice)?.probability(&("heads", "heads")).to_string(), "4/9");
/// # Ok::<(), chance::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Source<T> {
    outcomes: Vec<T>,
    weights: Vec<u64>,
    total: u64,
    alias: Alias,
}

impl<T> Source<T> {
    /// Creates a source from outcomes and their weights; weights of zero are omitted.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoOutcomes`] if no outcome is left, and [`Error::WeightsTooLarge`] if the sum exceeds a
    /// `u64`.
    pub fn weighted(pairs: impl IntoIterator<Item = (T, u64)>) -> Result<Self, Error> {
        let (outcomes, weights): (Vec<T>, Vec<u64>) = pairs.into_iter().filter(|pair| pair.1 > 0).unzip();
        if outcomes.is_empty() {
            return Err(Error::NoOutcomes);
        }
        let sum = weights.iter().try_fold(0_u64, |sum, weight| sum.checked_add(*weight));
        let total = sum.ok_or(Error::WeightsTooLarge)?;
        Ok(Self { alias: Alias::new(&weights, total), outcomes, weights, total })
    }

    /// Creates a source from outcomes and their probabilities, rounded to parts of 2^60.
    ///
    /// For exact fractions use [`weighted`](Self::weighted).
    ///
    /// # Errors
    ///
    /// Returns [`Error::BadProbability`] if a probability is not between 0 and 1, and [`Error::NotOne`] if their sum
    /// differs from one by more than 1e-9.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Error, Source};
    /// assert_eq!(Source::with_probabilities([('a', 0.5), ('b', 0.4)]), Err(Error::NotOne { sum: 0.9 }));
    /// ```
    pub fn with_probabilities(pairs: impl IntoIterator<Item = (T, f64)>) -> Result<Self, Error> {
        let pairs: Vec<(T, f64)> = pairs.into_iter().collect();
        if let Some(bad) = pairs.iter().position(|pair| !(0.0..=1.0).contains(&pair.1)) {
            return Err(Error::BadProbability { position: bad + 1, value: pairs[bad].1 });
        }
        let sum: f64 = pairs.iter().map(|pair| pair.1).sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(Error::NotOne { sum });
        }
        Self::weighted(pairs.into_iter().map(|(outcome, p)| (outcome, (p * PARTS as f64).round() as u64)))
    }

    /// Creates a source from recorded outcomes, each with its relative frequency as its probability.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoOutcomes`] if there are none.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution, Source};
    /// let recorded_us = Source::empirical([12, 15, 12, 90])?;
    /// let worse_of_two = |chance: &mut Chance| *chance.draw(&recorded_us).max(chance.draw(&recorded_us));
    /// assert_eq!(Distribution::exact(&worse_of_two)?.probability(&90).to_string(), "7/16");
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn empirical(samples: impl IntoIterator<Item = T>) -> Result<Self, Error>
    where
        T: Ord,
    {
        let mut counts: Vec<(T, u64)> = samples.into_iter().map(|sample| (sample, 1)).collect();
        counts.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        counts.dedup_by(|later, kept| {
            let equal = later.0 == kept.0;
            kept.1 += if equal { later.1 } else { 0 };
            equal
        });
        Self::weighted(counts)
    }

    /// Returns the number of outcomes.
    #[expect(clippy::len_without_is_empty, reason = "a source has at least one outcome")]
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// Returns the sum of the weights.
    pub fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn weight(&self, index: usize) -> u64 {
        self.weights[index]
    }

    pub(crate) fn outcome(&self, index: usize) -> &T {
        &self.outcomes[index]
    }

    #[inline]
    pub(crate) fn sample(&self, rng: &mut fastrand::Rng) -> &T {
        &self.outcomes[self.alias.draw(rng)]
    }
}

// Draws from weights in constant time: Walker's alias method (1977), constructed as by Vose (1991), in integers.
//
// Each of n columns holds `total` units, n·total in all; outcome i owns n·weight(i) of them. A column is split
// between its own outcome and one other, its alias. A draw takes any column, and any unit in it. Nothing is rounded.

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alias {
    /// Each column's number of units for its outcome, and the outcome of the rest.
    columns: Vec<(u64, u32)>,
    total: u64,
}

impl Alias {
    /// Creates the columns for positive `weights` that sum to `total`; there are at most 2^32.
    pub(crate) fn new(weights: &[u64], total: u64) -> Self {
        let (n, full) = (weights.len() as u128, u128::from(total));
        let mut units: Vec<u128> = weights.iter().map(|&weight| u128::from(weight) * n).collect();
        let mut columns: Vec<(u64, u32)> = (0..weights.len()).map(|i| (total, i as u32)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..weights.len()).partition(|&i| units[i] < full);
        while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
            small.pop();
            columns[poor] = (units[poor] as u64, rich as u32);
            units[rich] -= full - units[poor];
            if units[rich] < full {
                large.pop();
                small.push(rich);
            }
        }
        Self { columns, total }
    }

    /// Returns the index of an outcome.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> usize {
        let column = rng.usize(..self.columns.len());
        let (own, other) = self.columns[column];
        if rng.u64(..self.total) < own { column } else { other as usize }
    }
}
