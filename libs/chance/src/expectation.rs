//! One number about an experiment, without the table of the rest.
use std::borrow::Cow;
use std::marker::PhantomData;

use num_traits::Zero;

use crate::experiment::probability_where;
use crate::{Error, Exact, Experiment, Limits, Sink, Weight};

/// An experiment of which single numbers are computed.
///
/// The last step is never tabulated: each of its paths adds to one sum and is forgotten. The probability of one value
/// of a [`sum_of`](Experiment::sum_of) is an inner product of two half sums, never the whole one.
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
    /// Answers in exact rationals.
    pub fn exact(experiment: &'a E) -> Self {
        Self::within(experiment, Limits::default())
    }
}

impl<'a, E: Experiment> Expectation<'a, E, f64> {
    /// Answers in `f64`.
    pub fn floating(experiment: &'a E) -> Self {
        Self::within(experiment, Limits::default())
    }
}

impl<'a, E: Experiment, W: Weight> Expectation<'a, E, W> {
    /// Answers within `limits`.
    pub fn within(experiment: &'a E, limits: Limits) -> Self {
        Self { experiment, limits, arithmetic: PhantomData }
    }

    /// The probability of exactly `outcome`.
    ///
    /// # Errors
    /// When the experiment cannot be enumerated within the limits; see [`Error`].
    pub fn probability_of(&self, outcome: &E::Outcome) -> Result<W::Probability, Error> {
        self.experiment.probability_of::<W>(outcome, &self.limits)
    }

    /// The probability that `event` holds for the outcome.
    ///
    /// # Errors
    /// As [`probability_of`](Self::probability_of).
    pub fn probability(&self, event: impl Fn(&E::Outcome) -> bool) -> Result<W::Probability, Error> {
        probability_where::<_, W>(self.experiment, event, &self.limits)
    }

    /// The mean of a function of the outcome.
    ///
    /// # Errors
    /// As [`probability_of`](Self::probability_of).
    pub fn mean(&self, function: impl Fn(&E::Outcome) -> W::Probability) -> Result<W::Probability, Error> {
        let mut sums = Sums { function, total: W::Probability::zero(), seen: W::zero(), of: W::one() };
        self.experiment.visit(&self.limits, &mut sums)?;
        if sums.seen.is_nothing() { Err(Error::Impossible) } else { Ok(sums.total / sums.seen.of(W::integer(1))) }
    }
}

/// The parts seen so far and the function summed over them, both out of `of`, which cancels.
struct Sums<F, P, W> {
    function: F,
    total: P,
    seen: W,
    of: W,
}

impl<T, W: Weight, F: Fn(&T) -> W::Probability> Sink<T, W> for Sums<F, W::Probability, W> {
    /// The whole of both sums, which cancels too.
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
