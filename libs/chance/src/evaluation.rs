//! The two ways to evaluate an experiment: the enumeration of all outcomes, and performances with seeded random numbers,
//! with estimates from counts.

use crate::{Chance, Distribution, Error, Exact, Experiment, Limits, Source, Weight};
use std::ops::RangeInclusive;

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

/// Attempts after which a condition is considered impossible.
const TRIES: u64 = 1_000_000;

/// The 97.5 % quantile of the normal distribution; its two tails leave 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// A performer of experiments that gives the same outcomes for the same seed.
///
/// # Examples
///
/// ```
/// use chance::{Chance, Simulation};
///
/// let dice = |chance: &mut Chance| chance.die(6) + chance.die(6);
/// let rolls: Vec<u32> = Simulation::seeded(42).runs(&dice).take(5).collect::<Result<_, _>>()?;
/// let again: Vec<u32> = Simulation::seeded(42).runs(&dice).take(5).collect::<Result<_, _>>()?;
/// assert_eq!(rolls, again);
/// # Ok::<(), chance::Error>(())
/// ```
#[derive(Debug)]
pub struct Simulation {
    chance: Chance,
}

impl Simulation {
    /// Creates a simulation from `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self { chance: Chance::random(seed) }
    }

    /// Performs `experiment` repeatedly until its conditions hold.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Rejected`] if they hold in none of a million attempts.
    #[inline]
    pub fn run<T>(&mut self, experiment: &impl Experiment<Outcome = T>) -> Result<T, Error> {
        for _ in 0..TRIES {
            let outcome = experiment.perform(&mut self.chance);
            if !self.chance.take_rejected() {
                return Ok(outcome);
            }
        }
        Err(Error::Rejected { tries: TRIES })
    }

    /// Returns an endless series of performances.
    pub fn runs<T>(&mut self, experiment: &impl Experiment<Outcome = T>) -> impl Iterator<Item = Result<T, Error>> {
        std::iter::repeat_with(|| self.run(experiment))
    }

    /// Returns the relative frequency of each outcome in `runs` performances, as a distribution of exact shares.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`run`](Self::run), and [`Error::NoOutcomes`] if `runs` is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Simulation};
    /// let seen = Simulation::seeded(1).sample(&|chance: &mut Chance| chance.die(6), 60_000)?;
    /// assert!((chance::Exact::to_f64(&seen.probability(&6)) - 1.0 / 6.0).abs() < 0.01);
    /// # use chance::Weight;
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn sample<T: Clone + Ord>(
        &mut self,
        experiment: &impl Experiment<Outcome = T>,
        runs: usize,
    ) -> Result<Distribution<T, crate::Exact>, Error> {
        let outcomes = self.runs(experiment).take(runs).collect::<Result<Vec<_>, _>>()?;
        Ok(Source::empirical(outcomes)?.distribution())
    }

    /// Estimates the probability of `event` from `runs` performances.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`run`](Self::run).
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Simulation};
    /// let six = Simulation::seeded(5).estimate(&|chance: &mut Chance| chance.die(6), |face| *face == 6, 10_000)?;
    /// assert!(six.interval().contains(&(1.0 / 6.0)));
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn estimate<T>(
        &mut self,
        experiment: &impl Experiment<Outcome = T>,
        event: impl Fn(&T) -> bool,
        runs: u64,
    ) -> Result<Estimate, Error> {
        let mut hits = 0;
        for _ in 0..runs {
            hits += u64::from(event(&self.run(experiment)?));
        }
        Ok(Estimate { hits, runs })
    }
}

/// A probability estimated from counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// The number of performances in which the event held.
    pub hits: u64,
    /// The number of all performances.
    pub runs: u64,
}

impl Estimate {
    /// Returns the share of hits, or NaN if there were no runs.
    pub fn probability(&self) -> f64 {
        self.hits as f64 / self.runs as f64
    }

    /// Returns the 95 % interval for the true probability, or all of `0..=1` if there were no runs.
    ///
    /// It is Wilson's score interval (1927), which stays within 0 and 1 and is valid for rare events.
    ///
    /// # Examples
    ///
    /// ```
    /// let never = chance::Estimate { hits: 0, runs: 100 };
    /// assert_eq!(*never.interval().start(), 0.0);
    /// assert!((never.interval().end() - 0.037).abs() < 1e-3);
    /// ```
    pub fn interval(&self) -> RangeInclusive<f64> {
        if self.runs == 0 {
            return 0.0..=1.0;
        }
        let (n, p) = (self.runs as f64, self.probability());
        let shrink = 1.0 + Z * Z / n;
        let centre = (p + Z * Z / (2.0 * n)) / shrink;
        let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt() / shrink;
        let low = if self.hits == 0 { 0.0 } else { centre - half };
        let high = if self.hits == self.runs { 1.0 } else { centre + half };
        low..=high
    }
}
