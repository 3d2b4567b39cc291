//! What an experiment asks its random values from.
use fastrand::Rng;

use crate::path::Path;
use crate::weight::Mass;
use crate::{Continuous, Error, Limits, Source, Weight};

/// The maker of an experiment's random choices.
///
/// The experiment cannot tell who answers: a seeded generator in a [`Simulation`](crate::Simulation), or an enumeration
/// that will run the experiment again with every other answer. It must therefore depend on nothing but these answers:
/// no clock, no global, no other generator.
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

    /// One of `0..n`, all equally likely.
    ///
    /// # Panics
    /// If `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "a draw needs at least one outcome");
        match &mut self.answers {
            Answers::Random(rng) => rng.u64(..n),
            Answers::Path(path) => path.choose(n, n, |_| 1),
        }
    }

    /// One of `1..=sides`, all equally likely.
    ///
    /// # Panics
    /// If `sides` is 0.
    #[inline]
    pub fn die(&mut self, sides: u32) -> u32 {
        self.below(u64::from(sides)) as u32 + 1
    }

    /// True `hits` times out of `of`.
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let lottery = |chance: &mut Chance| chance.odds(1, 1025);
    /// assert_eq!(Distribution::exact(&lottery)?.probability(&true).to_string(), "1/1025");
    /// # Ok::<(), chance::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `of` is 0 or less than `hits`.
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

    /// How many of `draws` come up that do so `hits` times out of `of` each: [`odds`](Self::odds), counted.
    ///
    /// A loop of a caller's is compiled as the caller is; this one is always as good as this crate.
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let frame = |chance: &mut Chance| chance.how_many(5, 1, 1025);
    /// assert_eq!(Distribution::exact(&frame)?.mean().to_string(), "1/205");
    /// # Ok::<(), chance::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`odds`](Self::odds).
    pub fn how_many(&mut self, draws: u64, hits: u64, of: u64) -> u64 {
        (0..draws).map(|_| u64::from(self.odds(hits, of))).sum()
    }

    /// One of `items`, all equally likely.
    ///
    /// # Panics
    /// If `items` is empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// One of a source's outcomes, each by its weight.
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

    /// A number in `[0, 1)`, for simulation only: enumerating it ends in [`Error::Continuous`].
    pub fn unit(&mut self) -> f64 {
        match &mut self.answers {
            Answers::Random(rng) => rng.f64(),
            Answers::Path(path) => {
                path.fail(Error::Continuous);
                path.escape_unit()
            }
        }
    }

    /// A value of a continuous distribution, for simulation only, like [`unit`](Self::unit).
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

    /// Keeps this run only if `holds`: everything is then given that condition.
    ///
    /// The function runs on to its end, but what it returns is thrown away. A simulation tries again.
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

    /// Whether `given` failed since the last call.
    pub(crate) fn take_rejected(&mut self) -> bool {
        std::mem::take(&mut self.rejected)
    }
}

/// A `Chance` that answers along every path in turn.
///
/// Most paths have the mass of the one before, so that is kept: a die's exact 1/6 is built once, not once a face.
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

    /// Runs `experiment` along every path; `each` gets the outcomes that no condition rejected.
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
