//! The table under construction: outcomes arrive in any order, equal ones merge, the size is watched.
//!
//! Arrivals are appended. When they outnumber what is merged already, the whole is sorted and equal neighbours are
//! added up; the sort finds the old part in order, so an arrival costs a few comparisons and no tree or hash. Most
//! steps lead from neighbouring states to neighbouring states: an arrival equal to one of the last few is added there
//! at once.

use crate::{Error, Limits, Weight};
use std::borrow::Cow;

pub(crate) struct OutcomeTable<T, W> {
    entries: Vec<(T, W)>,
    merged: usize,
    /// What all weights are parts of, besides `scale`.
    common: W,
    scale: W,
    limits: Limits,
}

/// Arrivals that are not worth a merge.
const FEW: usize = 256;

/// How far back an equal arrival is looked for.
const NEAR: usize = 8;

impl<T: Ord, W: Weight> OutcomeTable<T, W> {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { entries: Vec::new(), merged: 0, common: W::one(), scale: W::one(), limits: *limits }
    }

    /// Adds up equal outcomes; an error if the distinct ones outgrow the limit.
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

    /// Brings a mass to the common denominator, widening that where it must.
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

    /// The finished table: distinct outcomes in ascending order with positive weights, and what these are parts of.
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

/// Where an enumeration sends its outcomes.
pub trait Sink<T, W: Weight> {
    /// Makes the whole of every part `total` times as large: a part's probability is `part / (of · total)`.
    fn scale(&mut self, total: &W);

    /// Takes a portion of an outcome's probability: `part` out of `of`.
    ///
    /// # Errors
    /// When the sink can hold no more.
    fn outcome(&mut self, outcome: T, part: Cow<'_, W>, of: &W) -> Result<(), Error>;
}
