//! Experiments in steps: after each, equal outcomes merge.
use std::borrow::Cow;

use crate::chance::EveryPath;
use crate::{Chance, Distribution, Error, Experiment, Limits, Repeat, Sink, Then, Weight};

impl<E: Experiment, T: Clone + Ord, F: Fn(&mut Chance, E::Outcome) -> T> Experiment for Then<E, F> {
    type Outcome = T;

    fn perform(&self, chance: &mut Chance) -> T {
        let state = self.first.perform(chance);
        (self.step)(chance, state)
    }

    fn visit<W: Weight>(&self, limits: &Limits, sink: &mut impl Sink<T, W>) -> Result<(), Error> {
        step_from(&Distribution::within(&self.first, limits)?, &self.step, limits, sink)
    }
}

impl<E: Experiment, F: Fn(&mut Chance, E::Outcome) -> E::Outcome> Experiment for Repeat<E, F> {
    type Outcome = E::Outcome;

    fn perform(&self, chance: &mut Chance) -> E::Outcome {
        (0..self.times).fold(self.start.perform(chance), |state, _| (self.step)(chance, state))
    }

    fn visit<W: Weight>(&self, limits: &Limits, sink: &mut impl Sink<E::Outcome, W>) -> Result<(), Error> {
        let Some(all_but_last) = self.times.checked_sub(1) else { return self.start.visit(limits, sink) };
        let mut states = Distribution::within(&self.start, limits)?;
        for _ in 0..all_but_last {
            states = Distribution::gathered(limits, |table| step_from(&states, &self.step, limits, table))?;
        }
        step_from(&states, &self.step, limits, sink)
    }
}

impl<T: Clone + Ord, W: Weight> Distribution<T, W> {
    /// Goes on with `step` from every outcome; equal results merge.
    ///
    /// # Errors
    /// See [`within`](Self::within).
    pub fn then<U: Clone + Ord>(&self, step: impl Fn(&mut Chance, T) -> U) -> Result<Distribution<U, W>, Error> {
        let limits = Limits::default();
        Distribution::gathered(&limits, |table| step_from(self, step, &limits, table))
    }
}

/// Sends the outcomes of `step` from every state of a table to `sink`.
fn step_from<S: Clone + Ord, T, W: Weight>(
    states: &Distribution<S, W>,
    step: impl Fn(&mut Chance, S) -> T,
    limits: &Limits,
    sink: &mut impl Sink<T, W>,
) -> Result<(), Error> {
    let mut paths = EveryPath::<W>::new(limits);
    sink.scale(states.considered());
    for (state, weight) in states.weighted() {
        paths.follow(
            |chance| step(chance, state.clone()),
            |outcome, mass| sink.outcome(outcome, scaled(weight, &mass.part), &mass.of),
        )?;
    }
    Ok(())
}

/// The product, borrowed where one factor is one: a fair draw's exact weights need no new number.
fn scaled<'a, W: Weight>(weight: &'a W, part: &W) -> Cow<'a, W> {
    if *part == W::one() { Cow::Borrowed(weight) } else { Cow::Owned(weight.times(part)) }
}
