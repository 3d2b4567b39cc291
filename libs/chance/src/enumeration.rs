//! The enumeration of all outcomes of an experiment.
use crate::{Chance, Distribution, Error, Exact, Experiment, Limits, Source, Weight};

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
