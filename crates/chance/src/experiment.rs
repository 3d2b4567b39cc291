//! Descriptions of experiments, and how steps are joined.
use std::borrow::Cow;

use crate::chance::EveryPath;
use crate::tally::Tally;
use crate::{Chance, Distribution, Error, Limits, MaxOf, MinOf, SumOf, Weight, Whole};

/// A random experiment: a function of a [`Chance`], or steps made of such functions.
///
/// Every `Fn(&mut Chance) -> T` is one. Give a closure's argument its type: `|chance: &mut Chance| …`.
///
/// Joining with [`then`](Self::then) and [`repeat`](Self::repeat) changes no answer, only the cost: equal outcomes of a
/// step merge before the next begins.
///
/// ```
/// use chance::{Chance, Distribution, Experiment, sure};
///
/// let thousand = sure(0).repeat(1000, |chance: &mut Chance, sum| sum + chance.die(6));
/// let total = Distribution::floating(&thousand)?;
/// assert!((total.mean() - 3500.0).abs() < 1e-6);
/// # Ok::<(), chance::Error>(())
/// ```
pub trait Experiment {
    /// What comes out. Equal outcomes are the same outcome: `Ord` finds them.
    type Outcome: Clone + Ord;

    /// Performs the experiment once.
    fn perform(&self, chance: &mut Chance) -> Self::Outcome;

    /// Sends every outcome with its probability to `sink`; an outcome may arrive in several portions.
    ///
    /// Unless a kind of experiment knows better, this performs it along every path.
    ///
    /// # Errors
    /// When `limits` are passed or the experiment cannot be enumerated; see [`Error`].
    fn visit<W: Weight>(&self, limits: &Limits, sink: &mut impl Sink<Self::Outcome, W>) -> Result<(), Error> {
        let perform = |chance: &mut Chance| self.perform(chance);
        EveryPath::<W>::new(limits)
            .follow(perform, |outcome, mass| sink.outcome(outcome, Cow::Borrowed(&mass.part), &mass.of))
    }

    /// The probability of exactly `wanted`. Unless a kind of experiment knows better, from a table of two rows.
    ///
    /// # Errors
    /// As [`visit`](Self::visit).
    fn probability_of<W: Weight>(&self, wanted: &Self::Outcome, limits: &Limits) -> Result<W::Probability, Error> {
        probability_where::<_, W>(self, |outcome| outcome == wanted, limits)
    }

    /// Goes on with `step` from each distinct outcome.
    ///
    /// ```
    /// use chance::{Chance, Distribution, Experiment};
    /// // Roll a die, then toss that many coins and count the heads.
    /// let die = |chance: &mut Chance| chance.die(6);
    /// let heads = die.then(|chance, coins| (0..coins).filter(|_| chance.odds(1, 2)).count());
    /// assert_eq!(Distribution::exact(&heads)?.probability(&6).to_string(), "1/384");
    /// # Ok::<(), chance::Error>(())
    /// ```
    fn then<T, F>(self, step: F) -> Then<Self, F>
    where
        Self: Sized,
        T: Clone + Ord,
        F: Fn(&mut Chance, Self::Outcome) -> T,
    {
        Then { first: self, step }
    }

    /// Goes on with `step` from each distinct outcome, `times` times over.
    ///
    /// ```
    /// use chance::{Chance, Distribution, Experiment, sure};
    /// // A drunkard's walk of 100 steps ends where it began with probability C(100, 50) / 2^100.
    /// let walk = sure(0_i32).repeat(100, |chance: &mut Chance, at| if chance.odds(1, 2) { at + 1 } else { at - 1 });
    /// assert!((Distribution::floating(&walk)?.probability(&0) - 0.079_589_237).abs() < 1e-9);
    /// # Ok::<(), chance::Error>(())
    /// ```
    fn repeat<F>(self, times: u64, step: F) -> Repeat<Self, F>
    where
        Self: Sized,
        F: Fn(&mut Chance, Self::Outcome) -> Self::Outcome,
    {
        Repeat { start: self, times, step }
    }

    /// The sum of `copies` independent performances.
    ///
    /// ```
    /// use chance::{Chance, Expectation, Experiment};
    /// let dice = (|chance: &mut Chance| chance.die(6)).sum_of(3);
    /// assert_eq!(Expectation::exact(&dice).probability_of(&10)?.to_string(), "1/8");
    /// # Ok::<(), chance::Error>(())
    /// ```
    fn sum_of(self, copies: u64) -> SumOf<Self>
    where
        Self: Sized,
        Self::Outcome: Whole,
    {
        SumOf::new(self, copies)
    }

    /// The greatest outcome of `copies` independent performances.
    ///
    /// ```
    /// use chance::{Chance, Expectation, Experiment};
    /// let best = (|chance: &mut Chance| chance.die(6)).max_of(3);
    /// assert_eq!(Expectation::exact(&best).probability_of(&6)?.to_string(), "91/216");
    /// # Ok::<(), chance::Error>(())
    /// ```
    fn max_of(self, copies: u64) -> MaxOf<Self>
    where
        Self: Sized,
    {
        MaxOf::new(self, copies)
    }

    /// The least outcome of `copies` independent performances.
    ///
    /// ```
    /// use chance::{Chance, Expectation, Experiment};
    /// let worst = (|chance: &mut Chance| chance.die(6)).min_of(3);
    /// assert_eq!(Expectation::exact(&worst).probability_of(&6)?.to_string(), "1/216");
    /// # Ok::<(), chance::Error>(())
    /// ```
    fn min_of(self, copies: u64) -> MinOf<Self>
    where
        Self: Sized,
    {
        MinOf::new(self, copies)
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

impl<T: Clone + Ord, F: Fn(&mut Chance) -> T> Experiment for F {
    type Outcome = T;

    fn perform(&self, chance: &mut Chance) -> T {
        self(chance)
    }
}

/// The experiment that always comes out the same; made by [`sure`].
#[derive(Debug, Clone, Copy)]
pub struct Sure<T>(T);

/// The experiment that always comes out as `outcome`: where a [`repeat`](Experiment::repeat) starts.
pub fn sure<T: Clone + Ord>(outcome: T) -> Sure<T> {
    Sure(outcome)
}

impl<T: Clone + Ord> Experiment for Sure<T> {
    type Outcome = T;

    fn perform(&self, _: &mut Chance) -> T {
        self.0.clone()
    }
}

/// One experiment, then a step that depends on its outcome; made by [`Experiment::then`].
#[derive(Debug, Clone, Copy)]
pub struct Then<E, F> {
    first: E,
    step: F,
}

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

/// A step repeated; made by [`Experiment::repeat`].
#[derive(Debug, Clone, Copy)]
pub struct Repeat<E, F> {
    start: E,
    times: u64,
    step: F,
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
            let mut tally = Tally::new(limits);
            step_from(&states, &self.step, limits, &mut tally)?;
            states = tally.finish()?;
        }
        step_from(&states, &self.step, limits, sink)
    }
}

/// Sends the outcomes of `step` from every state of a table to `sink`.
pub(crate) fn step_from<S: Clone + Ord, T, W: Weight>(
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

/// The probability of an event: the experiment's distribution with two rows left, inside and outside.
pub(crate) fn probability_where<E: Experiment + ?Sized, W: Weight>(
    experiment: &E,
    event: impl Fn(&E::Outcome) -> bool,
    limits: &Limits,
) -> Result<W::Probability, Error> {
    let mut sides = Sides { event, tally: Tally::<bool, W>::new(limits) };
    experiment.visit(limits, &mut sides)?;
    Ok(sides.tally.finish()?.probability(&true))
}

struct Sides<F, W> {
    event: F,
    tally: Tally<bool, W>,
}

impl<T, W: Weight, F: Fn(&T) -> bool> Sink<T, W> for Sides<F, W> {
    fn scale(&mut self, total: &W) {
        self.tally.scale(total);
    }

    fn outcome(&mut self, outcome: T, part: Cow<'_, W>, of: &W) -> Result<(), Error> {
        self.tally.outcome((self.event)(&outcome), part, of)
    }
}
