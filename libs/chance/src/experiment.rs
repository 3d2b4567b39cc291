//! Experiments: functions of a [`Chance`] and their combinations, each with its simulation and its enumeration.

use crate::chance::EveryPath;
use crate::distribution::{OutcomeTable, Sink};
use crate::{Chance, Distribution, Error, Integer, Limits, Weight};
use std::borrow::Cow;

/// A random experiment: a function of a [`Chance`], or steps made of such functions.
///
/// Every `Fn(&mut Chance) -> T` is an experiment. The argument of a closure needs its type:
/// `|chance: &mut Chance| …`.
///
/// [`then`](Self::then) and [`repeat`](Self::repeat) change the cost of the result, not the result: equal outcomes of
/// a step merge before the next step begins.
///
/// # Examples
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
    /// The type of an outcome; outcomes that compare as equal by `Ord` are the same outcome.
    type Outcome: Clone + Ord;

    /// Performs the experiment once.
    fn perform(&self, chance: &mut Chance) -> Self::Outcome;

    /// Sends every outcome with its probability to `sink`; an outcome may arrive in several portions.
    ///
    /// By default, performs the experiment along every path.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if a limit is exceeded or the experiment cannot be enumerated.
    fn visit<W: Weight>(&self, limits: &Limits, sink: &mut impl Sink<Self::Outcome, W>) -> Result<(), Error> {
        let perform = |chance: &mut Chance| self.perform(chance);
        EveryPath::<W>::new(limits)
            .follow(perform, |outcome, mass| sink.outcome(outcome, Cow::Borrowed(&mass.part), &mass.of))
    }

    /// Returns the probability of exactly `value`.
    ///
    /// By default, it comes from a table of two rows.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`visit`](Self::visit).
    fn probability_of<W: Weight>(&self, value: &Self::Outcome, limits: &Limits) -> Result<W::Probability, Error> {
        probability_where::<_, W>(self, |outcome| outcome == value, limits)
    }

    /// Continues with `step` from each distinct outcome.
    ///
    /// # Examples
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

    /// Continues with `step` from each distinct outcome, `times` times.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution, Experiment, constant};
    /// // A random walk of 100 steps ends at its start with probability C(100, 50) / 2^100.
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

    /// Returns the sum of `copies` independent performances, as an experiment.
    ///
    /// # Examples
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

    /// Returns the greatest outcome of `copies` independent performances, as an experiment.
    ///
    /// # Examples
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

    /// Returns the least outcome of `copies` independent performances, as an experiment.
    ///
    /// # Examples
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

/// An experiment with one outcome only, made by [`constant`].
#[derive(Debug, Clone, Copy)]
pub struct Constant<T>(T);

/// Returns the experiment whose only outcome is `outcome`, the start of a [`repeat`](Experiment::repeat).
pub fn constant<T: Clone + Ord>(outcome: T) -> Constant<T> {
    Constant(outcome)
}

impl<T: Clone + Ord> Experiment for Constant<T> {
    type Outcome = T;

    fn perform(&self, _: &mut Chance) -> T {
        self.0.clone()
    }
}

/// Returns the probability of an event, from a distribution with two rows: inside and outside.
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

/// One experiment, then a step that depends on its outcome; made by [`Experiment::then`](crate::Experiment::then).
#[derive(Debug, Clone, Copy)]
pub struct Then<E, F> {
    pub(crate) first: E,
    pub(crate) step: F,
}

/// A repeated step, made by [`Experiment::repeat`](crate::Experiment::repeat).
#[derive(Debug, Clone, Copy)]
pub struct Repeat<E, F> {
    pub(crate) start: E,
    pub(crate) times: u64,
    pub(crate) step: F,
}

/// The sum of independent performances, made by [`Experiment::sum_of`](crate::Experiment::sum_of).
#[derive(Debug, Clone, Copy)]
pub struct SumOf<E> {
    pub(crate) each: E,
    pub(crate) copies: u64,
}

/// The greatest of independent performances, made by [`Experiment::max_of`](crate::Experiment::max_of).
#[derive(Debug, Clone, Copy)]
pub struct MaxOf<E> {
    pub(crate) each: E,
    pub(crate) copies: u64,
}

/// The least of independent performances, made by [`Experiment::min_of`](crate::Experiment::min_of).
#[derive(Debug, Clone, Copy)]
pub struct MinOf<E> {
    pub(crate) each: E,
    pub(crate) copies: u64,
}

// Experiments in steps: equal outcomes merge after each step.

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
    /// Continues with `step` from every outcome; equal results merge.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`within`](Self::within).
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

/// Returns the product, borrowed where one factor is one: the exact weights of a fair draw need no new number.
fn scaled<'a, W: Weight>(weight: &'a W, part: &W) -> Cow<'a, W> {
    if *part == W::one() { Cow::Borrowed(weight) } else { Cow::Owned(weight.times(part)) }
}

// Independent copies of one experiment: their sum, maximum and minimum.

impl<T: Clone + Ord, W: Weight> Distribution<T, W> {
    /// Returns the distribution of the sum of `copies` independent outcomes.
    ///
    /// Outcomes on an even grid become the coefficients of a polynomial, and the sum its power. Scattered outcomes
    /// are convolved in pairs. The cost on a grid of d points is:
    ///
    /// - n·d² products by a short integer in [`Exact`](crate::Exact);
    /// - about (n·d)²/2 multiplications in `f64`; for two outcomes only n.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Overflow`] if a sum does not fit `T`, and [`Error::TooLarge`] beyond the default limits.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let thousand = Distribution::exact(&|chance: &mut Chance| chance.die(6))?.sum_of(1000)?;
    /// assert_eq!(thousand.len(), 5001);
    /// assert_eq!(thousand.mean().to_string(), "3500");
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn sum_of(&self, copies: u64) -> Result<Self, Error>
    where
        T: Integer,
    {
        self.sum_of_within(copies, &Limits::default())
    }

    fn sum_of_within(&self, copies: u64, limits: &Limits) -> Result<Self, Error>
    where
        T: Integer,
    {
        if copies == 0 {
            return Self::from_rows(vec![(T::fit(0)?, W::one())], W::one());
        }
        let grid = Grid::of(self.outcomes().map(|outcome| outcome.widen()));
        for end in [grid.first, grid.last] {
            T::fit(end.saturating_mul(i128::from(copies)))?;
        }
        if grid.points() > 64 * self.len() as u128 + 1024 {
            return self.sum_by_pairs(copies, limits);
        }
        let each = size_of::<(T, W)>() as u128 + self.kept().bytes_of_power(copies);
        limits.admit((grid.points() - 1) * u128::from(copies) + 1, each)?;
        let mut weights = vec![W::zero(); grid.points() as usize];
        for (outcome, weight) in self.weighted() {
            weights[((outcome.widen() - grid.first) / grid.stride) as usize] = weight.clone();
        }
        let power = W::power(&weights, copies).into_iter().zip(0..).filter(|(weight, _)| !weight.is_nothing());
        let start = grid.first * i128::from(copies);
        let rows = power.map(|(weight, k)| Ok((T::fit(start + grid.stride * k)?, weight)));
        Self::from_rows(rows.collect::<Result<_, Error>>()?, self.considered().raise(copies))
    }

    fn sum_by_pairs(&self, copies: u64, limits: &Limits) -> Result<Self, Error>
    where
        T: Integer,
    {
        let mut sum = self.clone();
        for bit in (0..copies.ilog2()).rev() {
            sum = sum.plus_within(&sum, limits)?;
            if copies >> bit & 1 == 1 {
                sum = sum.plus_within(self, limits)?;
            }
        }
        Ok(sum)
    }

    /// Returns the distribution of the greatest of `copies` independent outcomes: the n-th power of the cumulative
    /// distribution.
    ///
    /// In `f64` any number of copies costs the same, and the tails keep their digits. Exact numbers grow with
    /// `copies`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoCopies`] if `copies` is 0, and [`Error::TooLarge`] beyond the default limits.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let noise = Distribution::floating(&|chance: &mut Chance| chance.odds(1, 1_000_000))?;
    /// assert!((noise.max_of(1_000_000)?.probability(&true) - (1.0 - (-1.0_f64).exp())).abs() < 1e-6);
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn max_of(&self, copies: u64) -> Result<Self, Error> {
        self.max_of_within(copies, &Limits::default())
    }

    fn max_of_within(&self, copies: u64, limits: &Limits) -> Result<Self, Error> {
        self.extreme(self.weighted().iter().collect(), copies, limits)
    }

    /// Returns the distribution of the least of `copies` independent outcomes, at the cost of
    /// [`max_of`](Self::max_of).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`max_of`](Self::max_of).
    pub fn min_of(&self, copies: u64) -> Result<Self, Error> {
        self.min_of_within(copies, &Limits::default())
    }

    fn min_of_within(&self, copies: u64, limits: &Limits) -> Result<Self, Error> {
        self.extreme(self.weighted().iter().rev().collect(), copies, limits)
    }

    /// Returns the distribution of the outcome that is last in the order of `rows` among `copies` outcomes.
    fn extreme(&self, rows: Vec<&(T, W)>, copies: u64, limits: &Limits) -> Result<Self, Error> {
        if copies == 0 {
            return Err(Error::NoCopies);
        }
        limits.admit(rows.len() as u128, size_of::<(T, W)>() as u128 + self.kept().bytes_of_power(copies))?;
        let weights: Vec<_> = rows.iter().map(|row| &row.1).collect();
        let powers = W::greatest(&weights, self.kept(), copies).into_iter();
        let outcomes = rows.into_iter().map(|row| row.0.clone());
        let mut rows: Vec<_> = outcomes.zip(powers).filter(|row| !row.1.is_nothing()).collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        Self::from_rows(rows, self.considered().raise(copies))
    }
}

/// The coarsest even spacing on which all outcomes lie.
struct Grid {
    first: i128,
    last: i128,
    stride: i128,
}

impl Grid {
    fn of(mut ascending: impl DoubleEndedIterator<Item = i128>) -> Self {
        let first = ascending.next().expect("a distribution has an outcome");
        let (last, stride) = ascending.fold((first, 0), |(_, stride), at| (at, num_integer::gcd(stride, at - first)));
        Self { first, last, stride: stride.max(1) }
    }

    fn points(&self) -> u128 {
        ((self.last - self.first) / self.stride) as u128 + 1
    }
}

impl<E: Experiment<Outcome: Integer>> Experiment for SumOf<E> {
    type Outcome = E::Outcome;

    /// # Panics
    ///
    /// Panics if the sum does not fit the outcome type.
    fn perform(&self, chance: &mut Chance) -> E::Outcome {
        let sum = (0..self.copies).map(|_| self.each.perform(chance).widen()).sum();
        E::Outcome::fit(sum).expect("the sum fits the outcome type")
    }

    fn visit<W: Weight>(&self, limits: &Limits, sink: &mut impl Sink<E::Outcome, W>) -> Result<(), Error> {
        send(&Distribution::within(&self.each, limits)?.sum_of_within(self.copies, limits)?, sink)
    }

    /// Computes the probability from the sums of two halves: one inner product instead of the last convolution.
    fn probability_of<W: Weight>(&self, value: &E::Outcome, limits: &Limits) -> Result<W::Probability, Error> {
        let each = Distribution::<_, W>::within(&self.each, limits)?;
        let half = each.sum_of_within(self.copies / 2, limits)?;
        let rest = each.sum_of_within(self.copies - self.copies / 2, limits)?;
        let mut weight = W::zero();
        for (a, weight_a) in half.weighted() {
            let Ok(b) = E::Outcome::fit(value.widen() - a.widen()) else { continue };
            if let Ok(index) = rest.weighted().binary_search_by(|row| row.0.cmp(&b)) {
                weight.plus(&weight_a.times(&rest.weighted()[index].1));
            }
        }
        Ok(weight.ratio(&half.kept().times(rest.kept())))
    }
}

macro_rules! extreme {
    ($name:ident, $method:ident, $reach:ident) => {
        impl<E: Experiment> Experiment for $name<E> {
            type Outcome = E::Outcome;

            /// # Panics
            ///
            /// Panics if there are no copies.
            fn perform(&self, chance: &mut Chance) -> E::Outcome {
                (0..self.copies).map(|_| self.each.perform(chance)).$reach().expect("at least one copy")
            }

            fn visit<W: Weight>(&self, limits: &Limits, sink: &mut impl Sink<E::Outcome, W>) -> Result<(), Error> {
                send(&Distribution::within(&self.each, limits)?.$method(self.copies, limits)?, sink)
            }
        }
    };
}

extreme!(MaxOf, max_of_within, max);
extreme!(MinOf, min_of_within, min);

/// Sends a finished table to `sink`.
fn send<T: Clone, W: Weight>(table: &Distribution<T, W>, sink: &mut impl Sink<T, W>) -> Result<(), Error> {
    sink.scale(table.considered());
    table
        .weighted()
        .iter()
        .try_for_each(|(outcome, weight)| sink.outcome(outcome.clone(), Cow::Borrowed(weight), &W::one()))
}
