//! A table of all outcomes, each with its probability.

use crate::weight::Arithmetic;
use crate::{Continuous, Error, Exact, Limits, Source, Weight};
use std::borrow::Cow;

/// A finite distribution: distinct outcomes in ascending order, each with a positive weight.
///
/// Two distributions are equal if they give the same outcomes the same probabilities, no matter how they were
/// computed.
///
/// # Examples
///
/// ```
/// use chance::{Chance, Distribution};
///
/// let dice = Distribution::exact(&|chance: &mut Chance| chance.die(6) + chance.die(6))?;
/// assert_eq!(dice.len(), 11);
/// assert_eq!(dice.mean().to_string(), "7");
/// assert_eq!(dice.variance().to_string(), "35/6");
/// assert_eq!(dice.at_most(&4).to_string(), "1/6");
/// assert_eq!(dice.quantile(0.5), &7);
/// let even = dice.given(|total| total % 2 == 0)?;
/// assert_eq!(even.probability(&6).to_string(), "5/18");
/// # Ok::<(), chance::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Distribution<T, W> {
    rows: Vec<(T, W)>,
    /// The sum of the rows' weights.
    kept: W,
    /// `kept` plus the weight that conditions rejected.
    considered: W,
}

impl<T: Clone + Ord> Distribution<T, Exact> {
    /// Returns the same distribution in `f64`.
    ///
    /// Probabilities below about 1e-308 are omitted.
    pub fn to_floating(&self) -> Distribution<T, f64> {
        let evidence = Exact::to_f64(&self.evidence());
        let in_f64 = |weight: &Exact| weight.share(&self.kept);
        let rows = self.rows.iter().map(|(outcome, weight)| (outcome.clone(), in_f64(weight)));
        Distribution::from_rows(rows.filter(|row| row.1 > 0.0).collect(), 1.0 / evidence)
            .expect("some outcome is likely enough")
    }
}

impl Distribution<u64, f64> {
    /// Returns a continuous distribution cut into `cells` cells of `width`, from zero up; the first and the last cell
    /// hold all values beyond them.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BadParameter`] if `width` is not a positive number, and [`Error::NoOutcomes`] if `cells`
    /// is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Distribution, Exponential};
    /// let wait = Distribution::binned(&Exponential::with_mean(1.0)?, 0.5, 20)?;
    /// assert!((wait.at_most(&1) - (1.0 - (-1.0_f64).exp())).abs() < 1e-12);
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn binned(source: &impl Continuous, width: f64, cells: u64) -> Result<Self, Error> {
        if !(width > 0.0 && width.is_finite()) {
            return Err(Error::BadParameter { name: "width", value: width, allowed: "a positive number" });
        }
        let upper = |cell: u64| if cell + 1 == cells { 1.0 } else { source.cdf(width * (cell + 1) as f64) };
        let lower = |cell: u64| if cell == 0 { 0.0 } else { source.cdf(width * cell as f64) };
        let rows = (0..cells).map(|cell| (cell, upper(cell) - lower(cell))).filter(|row| row.1 > 0.0).collect();
        Self::from_rows(rows, 1.0).map_err(|_| Error::NoOutcomes)
    }
}

impl<T: Clone + Ord, W: Weight> Distribution<T, W> {
    /// Returns the distribution of a function of the outcome.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let parity = Distribution::exact(&|chance: &mut Chance| chance.die(5))?.map(|face| face % 2);
    /// assert_eq!(parity.probability(&1).to_string(), "3/5");
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn map<U: Clone + Ord>(&self, function: impl Fn(&T) -> U) -> Distribution<U, W> {
        let unlimited = Limits { bytes: u64::MAX, ..Limits::default() };
        let mapped = Distribution::gathered(&unlimited, |table| {
            table.scale(&self.considered);
            let mut rows = self.rows.iter();
            rows.try_for_each(|(outcome, weight)| table.outcome(function(outcome), Cow::Borrowed(weight), &W::one()))
        });
        mapped.expect("no outcome is lost")
    }

    /// Returns the distribution conditional on `condition`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Impossible`] if it never does.
    pub fn given(&self, condition: impl Fn(&T) -> bool) -> Result<Self, Error> {
        let rows = self.rows.iter().filter(|(outcome, _)| condition(outcome)).cloned().collect();
        Self::from_rows(rows, self.considered.clone())
    }

    /// Returns the distribution of the sum of an outcome and an independent outcome of `other`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Overflow`] if a sum does not fit `T`, and [`Error::TooLarge`] beyond the default limits.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let die = Distribution::exact(&|chance: &mut Chance| chance.die(6))?;
    /// let coin = Distribution::exact(&|chance: &mut Chance| chance.odds(1, 2) as u32)?;
    /// assert_eq!(die.plus(&coin)?.probability(&7).to_string(), "1/12");
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn plus(&self, other: &Self) -> Result<Self, Error>
    where
        T: Integer,
    {
        self.plus_within(other, &Limits::default())
    }

    pub(crate) fn plus_within(&self, other: &Self, limits: &Limits) -> Result<Self, Error>
    where
        T: Integer,
    {
        Self::gathered(limits, |table| {
            table.scale(&self.considered);
            table.scale(&other.considered);
            for (a, weight_a) in &self.rows {
                for (b, weight_b) in &other.rows {
                    table.outcome(T::fit(a.widen() + b.widen())?, Cow::Owned(weight_a.times(weight_b)), &W::one())?;
                }
            }
            Ok(())
        })
    }

    /// Returns the probability of `outcome`, or zero if it is not in the table.
    pub fn probability(&self, outcome: &T) -> W::Probability {
        match self.rows.binary_search_by(|row| row.0.cmp(outcome)) {
            Ok(index) => self.rows[index].1.ratio(&self.kept),
            Err(_) => W::zero().ratio(&self.kept),
        }
    }

    /// Returns the probability of `outcome` or less.
    pub fn at_most(&self, outcome: &T) -> W::Probability {
        sum(self.rows.iter().take_while(|row| row.0 <= *outcome).map(|row| &row.1)).ratio(&self.kept)
    }

    /// Returns the probability of more than `outcome`, summed from the far end so that small tails keep their digits.
    pub fn more_than(&self, outcome: &T) -> W::Probability {
        sum(self.rows.iter().rev().take_while(|row| row.0 > *outcome).map(|row| &row.1)).ratio(&self.kept)
    }

    /// Returns the least outcome that is reached with probability `p`.
    ///
    /// `p` and the probabilities are compared as `f64`.
    ///
    /// # Panics
    ///
    /// Panics if `p` is not between 0 and 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let ten = Distribution::exact(&|chance: &mut Chance| chance.die(10))?;
    /// assert_eq!((ten.quantile(0.0), ten.quantile(0.9), ten.quantile(0.91)), (&1, &9, &10));
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn quantile(&self, p: f64) -> &T {
        assert!((0.0..=1.0).contains(&p), "quantile {p}: it must lie between 0 and 1");
        let mut reached = W::zero();
        let row = self.rows.iter().find(|(_, weight)| {
            reached.plus(weight);
            reached.share(&self.kept) >= p
        });
        &row.or(self.rows.last()).expect("a distribution has an outcome").0
    }

    /// Returns the mean outcome.
    pub fn mean(&self) -> W::Probability
    where
        T: Integer,
    {
        self.mean_of(|outcome| W::integer(outcome.widen()))
    }

    /// Returns the variance: the mean square distance from the mean.
    pub fn variance(&self) -> W::Probability
    where
        T: Integer,
    {
        let mean = self.mean();
        self.mean_of(|outcome| {
            let distance = W::integer(outcome.widen()) - mean.clone();
            distance.clone() * distance
        })
    }

    /// Returns the mean of a function of the outcome.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let die = Distribution::floating(&|chance: &mut Chance| chance.die(6))?;
    /// assert!((die.mean_of(|face| f64::from(*face).sqrt()) - 1.805).abs() < 1e-3);
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn mean_of(&self, function: impl Fn(&T) -> W::Probability) -> W::Probability {
        use num_traits::Zero;
        let mut total = W::Probability::zero();
        self.rows.iter().for_each(|(outcome, weight)| W::add(&mut total, weight.of(function(outcome))));
        total / self.kept.of(W::integer(1))
    }

    /// Returns the probability that every condition on the experiment held, or 1 if there was no condition.
    pub fn evidence(&self) -> W::Probability {
        self.kept.ratio(&self.considered)
    }

    /// Returns the outcomes with their probabilities, in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&T, W::Probability)> {
        self.rows.iter().map(|(outcome, weight)| (outcome, weight.ratio(&self.kept)))
    }

    /// Returns the outcomes, in ascending order.
    pub fn outcomes(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.iter().map(|row| &row.0)
    }

    /// Returns the number of distinct outcomes.
    #[expect(clippy::len_without_is_empty, reason = "a distribution has at least one outcome")]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the distribution as a source for draws, with probabilities rounded to parts of 2^60.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Chance, Distribution, Simulation};
    /// let source = Distribution::exact(&|chance: &mut Chance| chance.die(6) + chance.die(6))?.source();
    /// let drawn = Simulation::seeded(3).run(&|chance: &mut Chance| *chance.draw(&source))?;
    /// assert!((2..=12).contains(&drawn));
    /// # Ok::<(), chance::Error>(())
    /// ```
    pub fn source(&self) -> Source<T> {
        let parts = self.rows.iter().map(|(outcome, weight)| (outcome.clone(), weight.parts(&self.kept)));
        Source::weighted(parts).expect("the likeliest outcome has a positive part")
    }
}

impl<T: Ord, W: Weight> Distribution<T, W> {
    /// Creates the distribution of the outcomes that `fill` sends to a table.
    pub(crate) fn gathered(
        limits: &Limits,
        fill: impl FnOnce(&mut OutcomeTable<T, W>) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut table = OutcomeTable::new(limits);
        fill(&mut table)?;
        let (rows, considered) = table.finish()?;
        Self::from_rows(rows, considered)
    }
}

impl<T, W: Weight> Distribution<T, W> {
    /// Creates the distribution from ascending distinct outcomes of positive weight.
    ///
    /// Floating weights are normalised to a sum of one.
    pub(crate) fn from_rows(mut rows: Vec<(T, W)>, mut considered: W) -> Result<Self, Error> {
        if rows.is_empty() {
            return Err(Error::Impossible);
        }
        let sum = sum(rows.iter().map(|row| &row.1));
        let mut kept = sum.clone();
        kept.normalise(&sum);
        considered.normalise(&sum);
        rows.iter_mut().for_each(|row| row.1.normalise(&sum));
        Ok(Self { rows, kept, considered })
    }

    pub(crate) fn weighted(&self) -> &[(T, W)] {
        &self.rows
    }

    pub(crate) fn kept(&self) -> &W {
        &self.kept
    }

    pub(crate) fn considered(&self) -> &W {
        &self.considered
    }
}

impl<T: PartialEq, W: Weight> PartialEq for Distribution<T, W> {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&(T, W), &(T, W))| a.0 == b.0 && a.1.times(&other.kept) == b.1.times(&self.kept);
        self.rows.len() == other.rows.len() && self.rows.iter().zip(&other.rows).all(same)
    }
}

fn sum<'a, W: Weight + 'a>(weights: impl Iterator<Item = &'a W>) -> W {
    weights.fold(W::zero(), |mut sum, weight| {
        sum.plus(weight);
        sum
    })
}

/// A table under construction: outcomes arrive in any order, equal ones merge, and the size is limited.
///
/// New outcomes are appended. When more of them are waiting than are merged already, the table is sorted and equal
/// neighbours are added. The sort finds the merged part in order, so an outcome costs a few comparisons, without a
/// tree or a hash. Most steps lead from neighbouring states to neighbouring states: an outcome that equals one of the
/// last few is added to it at once.
pub(crate) struct OutcomeTable<T, W> {
    entries: Vec<(T, W)>,
    merged: usize,
    /// The denominator of all weights, apart from `scale`.
    common: W,
    scale: W,
    limits: Limits,
}

/// The number of new outcomes below which a merge is not worth its cost.
const FEW: usize = 256;

/// The number of recent outcomes in which an equal outcome is searched.
const NEAR: usize = 8;

impl<T: Ord, W: Weight> OutcomeTable<T, W> {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { entries: Vec::new(), merged: 0, common: W::one(), scale: W::one(), limits: *limits }
    }

    /// Adds up equal outcomes and fails if the distinct ones exceed the limit.
    fn merge(&mut self) -> Result<(), Error> {
        self.entries.sort_by(|a, b| a.0.cmp(&b.0));
        self.entries.dedup_by(|later, kept| {
            let equal = later.0 == kept.0;
            if equal {
                kept.1.plus(&later.1);
            }
            equal
        });
        self.merged = self.entries.len();
        let heap: u64 = self.entries.iter().map(|(_, weight)| weight.heap_bytes()).sum();
        let each = size_of::<(T, W)>() as u128 + u128::from(heap / (self.merged as u64).max(1));
        self.limits.admit(self.merged as u128, each)
    }

    /// Converts a mass to the common denominator, which grows where necessary.
    fn align<'a>(&mut self, part: Cow<'a, W>, of: &W) -> Cow<'a, W> {
        if *of == self.common {
            return part;
        }
        let common = W::common(&self.common, of);
        if common != self.common {
            let factor = common.over(&self.common);
            self.entries.iter_mut().for_each(|(_, weight)| *weight = weight.times(&factor));
            self.common = common;
        }
        Cow::Owned(part.times(&self.common.over(of)))
    }

    /// Returns the finished table, which is distinct outcomes in ascending order with positive weights, and the
    /// denominator of the weights.
    pub(crate) fn finish(mut self) -> Result<(Vec<(T, W)>, W), Error> {
        self.merge()?;
        self.entries.retain(|(_, weight)| !weight.is_nothing());
        Ok((self.entries, self.scale.times(&self.common)))
    }
}

impl<T: Ord, W: Weight> Sink<T, W> for OutcomeTable<T, W> {
    fn scale(&mut self, total: &W) {
        self.scale = self.scale.times(total);
    }

    fn outcome(&mut self, outcome: T, part: Cow<'_, W>, of: &W) -> Result<(), Error> {
        let weight = self.align(part, of);
        if let Some((_, near)) = self.entries.iter_mut().rev().take(NEAR).find(|entry| entry.0 == outcome) {
            near.plus(&weight);
            return Ok(());
        }
        self.entries.push((outcome, weight.into_owned()));
        if self.entries.len() > 2 * self.merged + FEW { self.merge() } else { Ok(()) }
    }
}

/// A receiver of the outcomes of an enumeration.
pub trait Sink<T, W: Weight> {
    /// Multiplies the denominator of every part by `total`: a part's probability is `part / (of · total)`.
    fn scale(&mut self, total: &W);

    /// Adds a portion of an outcome's probability: `part` out of `of`.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the sink cannot hold the outcome.
    fn outcome(&mut self, outcome: T, part: Cow<'_, W>, of: &W) -> Result<(), Error>;
}

/// A whole-number outcome: every primitive integer but `u128`.
pub trait Integer: Copy + Ord {
    /// Returns the number as an `i128`.
    fn widen(self) -> i128;

    /// Converts a number to this type.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Overflow`] if it does not fit.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Error, Integer};
    /// assert_eq!(u8::fit(200), Ok(200));
    /// assert_eq!(u8::fit(300), Err(Error::Overflow { value: 300 }));
    /// ```
    fn fit(value: i128) -> Result<Self, Error>;
}

macro_rules! integers {
    ($($kind:ty)*) => {$(
        impl Integer for $kind {
            fn widen(self) -> i128 {
                self as i128
            }

            fn fit(value: i128) -> Result<Self, Error> {
                Self::try_from(value).map_err(|_| Error::Overflow { value })
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 i128 isize);
