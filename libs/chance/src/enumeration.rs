//! The enumeration of all outcomes of an experiment, and its limits.
use crate::{Chance, Distribution, Error, Exact, Experiment, Source, Weight};

impl<T: Clone + Ord> Distribution<T, Exact> {
    /// Enumerates `experiment` in exact rationals, within the default [`Limits`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`within`](Self::within).
    pub fn exact(experiment: &impl Experiment<Outcome = T>) -> Result<Self, Error> {
        Self::of(experiment)
    }
}

impl<T: Clone + Ord> Distribution<T, f64> {
    /// Enumerates `experiment` in `f64`, within the default [`Limits`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`within`](Self::within).
    pub fn floating(experiment: &impl Experiment<Outcome = T>) -> Result<Self, Error> {
        Self::of(experiment)
    }
}

impl<T: Clone + Ord, W: Weight> Distribution<T, W> {
    /// Enumerates `experiment` within the default [`Limits`], in the arithmetic `W`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`within`](Self::within).
    pub fn of(experiment: &impl Experiment<Outcome = T>) -> Result<Self, Error> {
        Self::within(experiment, &Limits::default())
    }

    /// Enumerates `experiment` within `limits`.
    ///
    /// # Errors
    ///
    /// Returns an error if a limit is exceeded, a condition never holds, or the experiment draws a continuous value.
    pub fn within(experiment: &impl Experiment<Outcome = T>, limits: &Limits) -> Result<Self, Error> {
        Self::gathered(limits, |table| experiment.visit(limits, table))
    }
}

impl<T: Clone + Ord> Source<T> {
    /// Returns the source as an exact distribution.
    pub fn distribution(&self) -> Distribution<T, Exact> {
        Distribution::exact(&|chance: &mut Chance| chance.draw(self).clone())
            .expect("a source has an outcome, and its outcomes fit in memory once more")
    }
}

/// The limits of an enumeration, beyond which it stops with an [`Error`] before the memory of the machine is full.
///
/// # Examples
///
/// ```
/// use chance::{Chance, Distribution, Error, Experiment, Limits, constant};
///
/// let tight = Limits { bytes: 10_000, ..Limits::default() };
/// let walk = constant(0_u64).repeat(40, |chance: &mut Chance, bits: u64| bits * 2 + chance.below(2));
/// let stopped = Distribution::<_, f64>::within(&walk, &tight);
/// assert!(matches!(stopped, Err(Error::TooLarge { states, .. }) if states > 300));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory that one table of distinct outcomes may occupy, in bytes. Default: 1 GiB.
    ///
    /// Heap memory that an outcome owns is not counted. While a table grows, the previous table and the outcomes that
    /// are not merged yet also occupy memory: two to three times as much.
    pub bytes: u64,
    /// Paths through one step, over all states from which it starts. Default: 100 million.
    pub paths: u64,
    /// Draws on one path through one step. Default: 10,000.
    pub draws: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 1 << 30, paths: 100_000_000, draws: 10_000 }
    }
}

impl Limits {
    /// Rejects a table of `states` outcomes of `each` bytes that exceeds the limit.
    pub(crate) fn admit(&self, states: u128, each: u128) -> Result<(), Error> {
        let bytes = states.saturating_mul(each);
        if bytes <= u128::from(self.bytes) {
            return Ok(());
        }
        let shown = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        Err(Error::TooLarge { states: shown(states), bytes: shown(bytes), limit: self.bytes })
    }
}
