//! The source of an experiment's random values.

use crate::weight::Mass;
use crate::{Continuous, Error, Limits, Source, Weight};
use fastrand::Rng;

/// The source of an experiment's random choices.
///
/// The choices come from a seeded generator in a [`Simulation`](crate::Simulation), or from an enumeration that
/// performs the experiment again with each other choice. The experiment cannot tell which. It must therefore depend
/// on these choices only: not on a clock, a global variable or another generator.
///
/// # Examples
///
/// ```
/// use chance::{Chance, Distribution};
///
/// // An extra roll if a six came up.
/// fn roll(chance: &mut Chance) -> u32 {
///     let dice = [chance.die(6), chance.die(6), chance.die(6)];
///     let extra = if dice.contains(&6) { chance.die(6) } else { 0 };
///     dice.iter().sum::<u32>() + extra
/// }
/// assert_eq!(Distribution::exact(&roll)?.probability(&24).to_string(), "1/1296");
/// # Ok::<(), chance::Error>(())
/// ```
#[derive(Debug)]
pub struct Chance {
    answers: Answers,
    rejected: bool,
}

#[derive(Debug)]
enum Answers {
    Random(Rng),
    Path(Path),
}

impl Chance {
    pub(crate) fn random(seed: u64) -> Self {
        Self { answers: Answers::Random(Rng::with_seed(seed)), rejected: false }
    }

    /// Returns one of `0..n`, all equally likely.
    ///
    /// # Panics
    ///
    /// Panics if `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "a draw needs at least one outcome");
        match &mut self.answers {
            Answers::Random(rng) => rng.u64(..n),
            Answers::Path(path) => path.choose(n, n, |_| 1),
        }
    }

    /// Returns one of `1..=sides`, all equally likely.
    ///
    /// # Panics
    ///
    /// Panics if `sides` is 0.
    #[inline]
    pub fn die(&mut self, sides: u32) -> u32 {
        self.below(u64::from(sides)) as u32 + 1
    }

    /// Returns true with probability `hits / of`.
    ///
    /// # Panics
    ///
    /// Panics if `of` is 0 or less than `hits`.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let lottery = |chance: &mut Chance| chance.odds(1, 1025);
    /// assert_eq!(Distribution::exact(&lottery)?.probability(&true).to_string(), "1/1025");
    /// # Ok::<(), chance::Error>(())
    /// ```
    #[inline]
    pub fn odds(&mut self, hits: u64, of: u64) -> bool {
        assert!(of > 0 && hits <= of, "odds of {hits} out of {of}");
        if hits == 0 || hits == of {
            return hits == of;
        }
        match &mut self.answers {
            Answers::Random(rng) => rng.u64(..of) < hits,
            Answers::Path(path) => path.choose(2, of, |taken| if taken == 0 { hits } else { of - hits }) == 0,
        }
    }

    /// Returns the number of `draws` draws that hit, each with probability `hits / of`: counted calls of
    /// [`odds`](Self::odds).
    ///
    /// A loop in the caller's crate has the optimisation level of that crate; this loop has the level of this crate.
    ///
    /// # Panics
    ///
    /// Panics if `of` is 0 or less than `hits`.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let frame = |chance: &mut Chance| chance.how_many(5, 1, 1025);
    /// assert_eq!(Distribution::exact(&frame)?.mean().to_string(), "1/205");
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn how_many(&mut self, draws: u64, hits: u64, of: u64) -> u64 {
        (0..draws).map(|_| u64::from(self.odds(hits, of))).sum()
    }

    /// Returns one of `items`, all equally likely.
    ///
    /// # Panics
    ///
    /// Panics if `items` is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// Returns one outcome of a source, with a probability by its weight.
    #[inline]
    pub fn draw<'a, T>(&mut self, source: &'a Source<T>) -> &'a T {
        match &mut self.answers {
            Answers::Random(rng) => source.sample(rng),
            Answers::Path(path) => {
                let weight = |index| source.weight(index as usize);
                source.outcome(path.choose(source.len() as u64, source.total(), weight) as usize)
            }
        }
    }

    /// Returns a number in `[0, 1)`, for simulation only: an enumeration of it ends in [`Error::Continuous`].
    pub fn unit(&mut self) -> f64 {
        match &mut self.answers {
            Answers::Random(rng) => rng.f64(),
            Answers::Path(path) => {
                path.fail(Error::Continuous);
                path.escape_unit()
            }
        }
    }

    /// Returns a value of a continuous distribution, for simulation only, like [`unit`](Self::unit).
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution, Error, Exponential, Simulation};
    /// let late = |chance: &mut Chance| chance.sample(&Exponential::with_mean(2.0).unwrap()) > 2.0;
    /// assert!(Simulation::seeded(7).estimate(&late, |late| *late, 10_000)?.interval().contains(&(-1.0_f64).exp()));
    /// assert_eq!(Distribution::exact(&late), Err(Error::Continuous));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn sample(&mut self, source: &impl Continuous) -> f64 {
        source.quantile(self.unit())
    }

    /// Keeps this run only if `holds`: the result is then conditional on it.
    ///
    /// The function runs to its end, but its outcome is discarded. A simulation tries again.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let first_given_sum = |chance: &mut Chance| {
    ///     let (a, b) = (chance.die(6), chance.die(6));
    ///     chance.given(a + b >= 11);
    ///     a
    /// };
    /// let a = Distribution::exact(&first_given_sum)?;
    /// assert_eq!(a.probability(&6).to_string(), "2/3");
    /// assert_eq!(a.evidence().to_string(), "1/12");
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn given(&mut self, holds: bool) {
        self.rejected |= !holds;
    }

    /// Returns whether a condition failed since the previous call.
    pub(crate) fn take_rejected(&mut self) -> bool {
        std::mem::take(&mut self.rejected)
    }
}

/// A `Chance` that takes every path, one after another.
///
/// Most paths have the mass of the previous path, so that mass is kept: the exact 1/6 of a die is built once, not
/// once per face.
pub(crate) struct EveryPath<W> {
    chance: Chance,
    draws: Vec<(u64, u64)>,
    mass: Mass<W>,
}

impl<W: Weight> EveryPath<W> {
    pub(crate) fn new(limits: &Limits) -> Self {
        let chance = Chance { answers: Answers::Path(Path::new(limits)), rejected: false };
        Self { chance, draws: Vec::new(), mass: W::mass(std::iter::empty()) }
    }

    /// Runs `experiment` along every path and passes the outcomes that no condition rejected to `each`.
    pub(crate) fn follow<T>(
        &mut self,
        experiment: impl Fn(&mut Chance) -> T,
        mut each: impl FnMut(T, &Mass<W>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        loop {
            let outcome = experiment(&mut self.chance);
            let rejected = self.chance.take_rejected();
            let Answers::Path(path) = &mut self.chance.answers else { unreachable!("built with a path") };
            path.finish()?;
            if !path.draws().eq(self.draws.iter().copied()) {
                self.draws = path.draws().collect();
                self.mass = W::mass(path.draws());
            }
            let more = path.advance();
            if !rejected {
                each(outcome, &self.mass)?;
            }
            if !more {
                return Ok(());
            }
        }
    }
}

#[derive(Debug)]
struct Choice {
    taken: u64,
    alternatives: u64,
    weight: u64,
    total: u64,
}

/// One path through an experiment's draws, and the walk over all paths.
///
/// The choices so far are a stack. A new run of the experiment takes its draws from the stack and pushes the first
/// alternative of each new draw. After the run, the last choice with an alternative left takes that alternative, and
/// the choices above it are dropped. The walk is depth-first and takes each path once, without a copy of the
/// experiment's state.
#[derive(Debug)]
pub(crate) struct Path {
    choices: Vec<Choice>,
    /// The number of draws of this run so far.
    position: usize,
    most_draws: usize,
    most_paths: u64,
    paths: u64,
    fault: Option<Error>,
    /// The source of choices after a fault, so that every loop that chance ends still ends.
    escape: Rng,
}

impl Path {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            choices: Vec::new(),
            position: 0,
            most_draws: limits.draws,
            most_paths: limits.paths,
            paths: 0,
            fault: None,
            escape: Rng::with_seed(0),
        }
    }

    /// Returns the alternative that this path takes in the next draw.
    pub(crate) fn choose(&mut self, alternatives: u64, total: u64, weight: impl Fn(u64) -> u64) -> u64 {
        if self.position == self.most_draws {
            self.fail(Error::TooManyDraws { draws: self.most_draws });
        }
        if self.fault.is_some() {
            return self.escape.u64(..alternatives);
        }
        if self.position == self.choices.len() {
            self.choices.push(Choice { taken: 0, alternatives, weight: 0, total });
        }
        let choice = &mut self.choices[self.position];
        self.position += 1;
        if (choice.alternatives, choice.total) != (alternatives, total) {
            self.fail(Error::Unrepeatable);
            return self.escape.u64(..alternatives);
        }
        choice.weight = weight(choice.taken);
        choice.taken
    }

    /// Ends the enumeration with `fault` after the current run; the first fault is kept.
    pub(crate) fn fail(&mut self, fault: Error) {
        self.fault.get_or_insert(fault);
    }

    /// Returns a number with which a failed run can end.
    pub(crate) fn escape_unit(&mut self) -> f64 {
        self.escape.f64()
    }

    /// Ends a run and returns its fault, if there was one.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if self.position != self.choices.len() {
            return Err(Error::Unrepeatable);
        }
        self.paths += 1;
        if self.paths > self.most_paths {
            return Err(Error::TooManyPaths { paths: self.most_paths });
        }
        Ok(())
    }

    /// Returns the weight and the total of each draw on this path.
    pub(crate) fn draws(&self) -> impl Iterator<Item = (u64, u64)> {
        self.choices.iter().map(|choice| (choice.weight, choice.total))
    }

    /// Advances to the next path; returns false after the last.
    pub(crate) fn advance(&mut self) -> bool {
        self.position = 0;
        while let Some(last) = self.choices.last_mut() {
            last.taken += 1;
            if last.taken < last.alternatives {
                return true;
            }
            self.choices.pop();
        }
        false
    }
}
