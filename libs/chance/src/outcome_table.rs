//! A table under construction: outcomes arrive in any order, equal ones merge, and the size is limited.
//!
//! New outcomes are appended. When more of them are waiting than are merged already, the table is sorted and equal
//! neighbours are added. The sort finds the merged part in order, so an outcome costs a few comparisons, without a
//! tree or a hash. Most steps lead from neighbouring states to neighbouring states: an outcome that equals one of the
//! last few is added to it at once.

use crate::{Error, Limits, Weight};
use std::borrow::Cow;

pub(crate) struct OutcomeTable<T, W> {
    entries: Vec<(T, W)>,
    merged: usize,
    /// The denominator of all weights, apart from `scale`.
    common: W,
    scale: W,
    limits: Limits,
}

/// The number of new outcomes below which a merge is not worth its cost.
const FEW: usize = 256;

/// The number of recent outcomes in which an equal outcome is searched.
const NEAR: usize = 8;

impl<T: Ord, W: Weight> OutcomeTable<T, W> {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { entries: Vec::new(), merged: 0, common: W::one(), scale: W::one(), limits: *limits }
    }

    /// Adds up equal outcomes and fails if the distinct ones exceed the limit.
    fn merge(&mut self) -> Result<(), Error> {
        self.entries.sort_by(|a, b| a.0.cmp(&b.0));
        self.entries.dedup_by(|later, kept| {
            let equal = later.0 == kept.0;
            if equal {
                kept.1.plus(&later.1);
            }
            equal
        });
        self.merged = self.entries.len();
        let heap: u64 = self.entries.iter().map(|(_, weight)| weight.heap_bytes()).sum();
        let each = size_of::<(T, W)>() as u128 + u128::from(heap / (self.merged as u64).max(1));
        self.limits.admit(self.merged as u128, each)
    }

    /// Converts a mass to the common denominator, which grows where necessary.
    fn align<'a>(&mut self, part: Cow<'a, W>, of: &W) -> Cow<'a, W> {
        if *of == self.common {
            return part;
        }
        let common = W::common(&self.common, of);
        if common != self.common {
            let factor = common.over(&self.common);
            self.entries.iter_mut().for_each(|(_, weight)| *weight = weight.times(&factor));
            self.common = common;
        }
        Cow::Owned(part.times(&self.common.over(of)))
    }

    /// Returns the finished table, which is distinct outcomes in ascending order with positive weights, and the
    /// denominator of the weights.
    pub(crate) fn finish(mut self) -> Result<(Vec<(T, W)>, W), Error> {
        self.merge()?;
        self.entries.retain(|(_, weight)| !weight.is_nothing());
        Ok((self.entries, self.scale.times(&self.common)))
    }
}

impl<T: Ord, W: Weight> Sink<T, W> for OutcomeTable<T, W> {
    fn scale(&mut self, total: &W) {
        self.scale = self.scale.times(total);
    }

    fn outcome(&mut self, outcome: T, part: Cow<'_, W>, of: &W) -> Result<(), Error> {
        let weight = self.align(part, of);
        if let Some((_, near)) = self.entries.iter_mut().rev().take(NEAR).find(|entry| entry.0 == outcome) {
            near.plus(&weight);
            return Ok(());
        }
        self.entries.push((outcome, weight.into_owned()));
        if self.entries.len() > 2 * self.merged + FEW { self.merge() } else { Ok(()) }
    }
}

/// A receiver of the outcomes of an enumeration.
pub trait Sink<T, W: Weight> {
    /// Multiplies the denominator of every part by `total`: a part's probability is `part / (of · total)`.
    fn scale(&mut self, total: &W);

    /// Adds a portion of an outcome's probability: `part` out of `of`.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the sink cannot hold the outcome.
    fn outcome(&mut self, outcome: T, part: Cow<'_, W>, of: &W) -> Result<(), Error>;
}
