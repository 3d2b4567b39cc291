//! Experiments performed with seeded random numbers, and what can be said from counting.
use std::ops::RangeInclusive;

use crate::{Chance, Distribution, Error, Experiment, Source};

/// Tries before a condition is taken to be impossible.
const TRIES: u64 = 1_000_000;

/// The 97.5 % point of the normal distribution: two tails of it leave 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// A performer of experiments; the same seed gives the same outcomes.
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
    /// A simulation that follows from `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self { chance: Chance::random(seed) }
    }

    /// Performs `experiment`, again and again until its conditions hold.
    ///
    /// # Errors
    /// [`Error::Rejected`] if they hold in none of a million tries.
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

    /// Performances without end.
    pub fn runs<T>(&mut self, experiment: &impl Experiment<Outcome = T>) -> impl Iterator<Item = Result<T, Error>> {
        std::iter::repeat_with(|| self.run(experiment))
    }

    /// How often each outcome came up in `runs` performances, as a distribution of exact shares.
    ///
    /// ```
    /// use chance::{Chance, Simulation};
    /// let seen = Simulation::seeded(1).sample(&|chance: &mut Chance| chance.die(6), 60_000)?;
    /// assert!((chance::Exact::to_f64(&seen.probability(&6)) - 1.0 / 6.0).abs() < 0.01);
    /// # use chance::Weight;
    /// # Ok::<(), chance::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run); [`Error::NoOutcomes`] if `runs` is 0.
    pub fn sample<T: Clone + Ord>(
        &mut self,
        experiment: &impl Experiment<Outcome = T>,
        runs: usize,
    ) -> Result<Distribution<T, crate::Exact>, Error> {
        let outcomes = self.runs(experiment).take(runs).collect::<Result<Vec<_>, _>>()?;
        Ok(Source::empirical(outcomes)?.distribution())
    }

    /// How often `event` held in `runs` performances.
    ///
    /// ```
    /// use chance::{Chance, Simulation};
    /// let six = Simulation::seeded(5).estimate(&|chance: &mut Chance| chance.die(6), |face| *face == 6, 10_000)?;
    /// assert!(six.interval().contains(&(1.0 / 6.0)));
    /// # Ok::<(), chance::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
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

/// A probability estimated by counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Performances in which the event held.
    pub hits: u64,
    /// All performances.
    pub runs: u64,
}

impl Estimate {
    /// The share of hits; not a number if there were no runs.
    pub fn probability(&self) -> f64 {
        self.hits as f64 / self.runs as f64
    }

    /// The 95 % interval for the true probability: Wilson's score interval (1927), which stays within 0 and 1 and is
    /// sound for rare events. All of it if there were no runs.
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
