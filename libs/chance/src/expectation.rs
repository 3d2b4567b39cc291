//! Single numbers about an experiment, without a table of its outcomes.
use std::borrow::Cow;
use std::marker::PhantomData;

use num_traits::Zero;

use crate::experiment::probability_where;
use crate::{Error, Exact, Experiment, Limits, Sink, Weight};

/// An experiment of which single numbers are computed.
///
/// The last step is not tabulated: each of its paths is added to one sum and then discarded. The probability of one
/// value of a [`sum_of`](Experiment::sum_of) is an inner product of the sums of its two halves; the distribution of
/// the whole sum is not computed.
///
/// # Examples
///
/// ```
/// use chance::{Chance, Expectation, Experiment};
///
/// let dice = (|chance: &mut Chance| chance.die(6)).sum_of(200);
/// let question = Expectation::floating(&dice);
/// assert!((question.probability_of(&700)? - 0.0165).abs() < 1e-4);
/// assert!((question.mean(|total| f64::from(*total))? - 700.0).abs() < 1e-9);
/// # Ok::<(), chance::Error>(())
/// ```
#[derive(Debug)]
pub struct Expectation<'a, E, W> {
    experiment: &'a E,
    limits: Limits,
    arithmetic: PhantomData<W>,
}

impl<'a, E: Experiment> Expectation<'a, E, Exact> {
    /// Computes in exact rationals, within the default [`Limits`].
    pub fn exact(experiment: &'a E) -> Self {
        Self::within(experiment, Limits::default())
    }
}

impl<'a, E: Experiment> Expectation<'a, E, f64> {
    /// Computes in `f64`, within the default [`Limits`].
    pub fn floating(experiment: &'a E) -> Self {
        Self::within(experiment, Limits::default())
    }
}

impl<'a, E: Experiment, W: Weight> Expectation<'a, E, W> {
    /// Computes within `limits`.
    pub fn within(experiment: &'a E, limits: Limits) -> Self {
        Self { experiment, limits, arithmetic: PhantomData }
    }

    /// Returns the probability of exactly `outcome`.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the experiment cannot be enumerated within the limits.
    pub fn probability_of(&self, outcome: &E::Outcome) -> Result<W::Probability, Error> {
        self.experiment.probability_of::<W>(outcome, &self.limits)
    }

    /// Returns the probability that `event` holds for the outcome.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`probability_of`](Self::probability_of).
    pub fn probability(&self, event: impl Fn(&E::Outcome) -> bool) -> Result<W::Probability, Error> {
        probability_where::<_, W>(self.experiment, event, &self.limits)
    }

    /// Returns the mean of a function of the outcome.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`probability_of`](Self::probability_of).
    pub fn mean(&self, function: impl Fn(&E::Outcome) -> W::Probability) -> Result<W::Probability, Error> {
        let mut sums = Sums { function, total: W::Probability::zero(), seen: W::zero(), of: W::one() };
        self.experiment.visit(&self.limits, &mut sums)?;
        if sums.seen.is_nothing() { Err(Error::Impossible) } else { Ok(sums.total / sums.seen.of(W::integer(1))) }
    }
}

/// The sum of the parts and the sum of the function over them, both as parts of `of`, which cancels.
struct Sums<F, P, W> {
    function: F,
    total: P,
    seen: W,
    of: W,
}

impl<T, W: Weight, F: Fn(&T) -> W::Probability> Sink<T, W> for Sums<F, W::Probability, W> {
    /// The scale of both sums, which also cancels.
    fn scale(&mut self, _: &W) {}

    fn outcome(&mut self, outcome: T, part: Cow<'_, W>, of: &W) -> Result<(), Error> {
        let mut part = part;
        if *of != self.of {
            let common = W::common(&self.of, of);
            let factor = common.over(&self.of);
            self.seen = self.seen.times(&factor);
            self.total = factor.of(self.total.clone());
            part = Cow::Owned(part.times(&common.over(of)));
            self.of = common;
        }
        self.seen.plus(&part);
        W::add(&mut self.total, part.of((self.function)(&outcome)));
        Ok(())
    }
}
