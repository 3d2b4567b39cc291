//! What an experiment is.
use std::borrow::Cow;

use crate::chance::EveryPath;
use crate::outcome_table::OutcomeTable;
use crate::{Chance, Distribution, Error, Integer, Limits, MaxOf, MinOf, Repeat, Sink, SumOf, Then, Weight};

/// A random experiment: a function of a [`Chance`], or steps made of such functions.
///
/// Every `Fn(&mut Chance) -> T` is one. Give a closure's argument its type: `|chance: &mut Chance| …`.
///
/// Joining with [`then`](Self::then) and [`repeat`](Self::repeat) changes no answer, only the cost: equal outcomes of a
/// step merge before the next begins.
///
/// ```
/// use chance::{Chance, Distribution, Experiment, constant};
///
/// let thousand = constant(0).repeat(1000, |chance: &mut Chance, sum| sum + chance.die(6));
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
    /// use chance::{Chance, Distribution, Experiment, constant};
    /// // A drunkard's walk of 100 steps ends where it began with probability C(100, 50) / 2^100.
    /// let step = |chance: &mut Chance, at| if chance.odds(1, 2) { at + 1 } else { at - 1 };
    /// let walk = constant(0_i32).repeat(100, step);
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
        Self::Outcome: Integer,
    {
        SumOf { each: self, copies }
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
        MaxOf { each: self, copies }
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
        MinOf { each: self, copies }
    }
}

impl<T: Clone + Ord, F: Fn(&mut Chance) -> T> Experiment for F {
    type Outcome = T;

    fn perform(&self, chance: &mut Chance) -> T {
        self(chance)
    }
}

/// The experiment that always comes out the same; made by [`constant`].
#[derive(Debug, Clone, Copy)]
pub struct Constant<T>(T);

/// The experiment that always comes out as `outcome`: where a [`repeat`](Experiment::repeat) starts.
pub fn constant<T: Clone + Ord>(outcome: T) -> Constant<T> {
    Constant(outcome)
}

impl<T: Clone + Ord> Experiment for Constant<T> {
    type Outcome = T;

    fn perform(&self, _: &mut Chance) -> T {
        self.0.clone()
    }
}

/// The probability of an event: the experiment's distribution with two rows left, inside and outside.
pub(crate) fn probability_where<E: Experiment + ?Sized, W: Weight>(
    experiment: &E,
    event: impl Fn(&E::Outcome) -> bool,
    limits: &Limits,
) -> Result<W::Probability, Error> {
    let sides = Distribution::<_, W>::gathered(limits, |table| experiment.visit(limits, &mut Sides { event, table }))?;
    Ok(sides.probability(&true))
}

struct Sides<'a, F, W> {
    event: F,
    table: &'a mut OutcomeTable<bool, W>,
}

impl<T, W: Weight, F: Fn(&T) -> bool> Sink<T, W> for Sides<'_, F, W> {
    fn scale(&mut self, total: &W) {
        self.table.scale(total);
    }

    fn outcome(&mut self, outcome: T, part: Cow<'_, W>, of: &W) -> Result<(), Error> {
        self.table.outcome((self.event)(&outcome), part, of)
    }
}
