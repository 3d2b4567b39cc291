//! Independent copies of one experiment: their sum, their greatest, their least.
use std::borrow::Cow;

use crate::{Chance, Distribution, Error, Experiment, Integer, Limits, MaxOf, MinOf, Sink, SumOf, Weight};

impl<T: Clone + Ord, W: Weight> Distribution<T, W> {
    /// The sum of `copies` independent outcomes.
    ///
    /// Outcomes on an even grid become the coefficients of a polynomial, and the sum its power. With d grid points that
    /// costs n·d² products by a short integer in [`Exact`](crate::Exact), and about (n·d)²/2 multiplications in `f64`,
    /// where two outcomes cost only n. Scattered outcomes are convolved pair by pair.
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let thousand = Distribution::exact(&|chance: &mut Chance| chance.die(6))?.sum_of(1000)?;
    /// assert_eq!(thousand.len(), 5001);
    /// assert_eq!(thousand.mean().to_string(), "3500");
    /// # Ok::<(), chance::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Overflow`] if a sum does not fit `T`, [`Error::TooLarge`] past the default limits.
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

    /// The greatest of `copies` independent outcomes: the n-th power of the cumulative distribution.
    ///
    /// In `f64` any number of copies costs the same, and the tails keep their digits; exact numbers grow with `copies`.
    ///
    /// ```
    /// use chance::{Chance, Distribution};
    /// let noise = Distribution::floating(&|chance: &mut Chance| chance.odds(1, 1_000_000))?;
    /// assert!((noise.max_of(1_000_000)?.probability(&true) - (1.0 - (-1.0_f64).exp())).abs() < 1e-6);
    /// # Ok::<(), chance::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoCopies`] if `copies` is 0, [`Error::TooLarge`] past the default limits.
    pub fn max_of(&self, copies: u64) -> Result<Self, Error> {
        self.max_of_within(copies, &Limits::default())
    }

    fn max_of_within(&self, copies: u64, limits: &Limits) -> Result<Self, Error> {
        self.extreme(self.weighted().iter().collect(), copies, limits)
    }

    /// The least of `copies` independent outcomes; as [`max_of`](Self::max_of).
    ///
    /// # Errors
    /// As [`max_of`](Self::max_of).
    pub fn min_of(&self, copies: u64) -> Result<Self, Error> {
        self.min_of_within(copies, &Limits::default())
    }

    fn min_of_within(&self, copies: u64, limits: &Limits) -> Result<Self, Error> {
        self.extreme(self.weighted().iter().rev().collect(), copies, limits)
    }

    /// The last in the order of `rows` among `copies` outcomes.
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

/// The coarsest even spacing that all outcomes lie on.
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
    /// If the sum does not fit the outcome type.
    fn perform(&self, chance: &mut Chance) -> E::Outcome {
        let sum = (0..self.copies).map(|_| self.each.perform(chance).widen()).sum();
        E::Outcome::fit(sum).expect("the sum fits the outcome type")
    }

    fn visit<W: Weight>(&self, limits: &Limits, sink: &mut impl Sink<E::Outcome, W>) -> Result<(), Error> {
        send(&Distribution::within(&self.each, limits)?.sum_of_within(self.copies, limits)?, sink)
    }

    /// From the sums of two halves: one inner product in place of the last convolution.
    fn probability_of<W: Weight>(&self, wanted: &E::Outcome, limits: &Limits) -> Result<W::Probability, Error> {
        let each = Distribution::<_, W>::within(&self.each, limits)?;
        let half = each.sum_of_within(self.copies / 2, limits)?;
        let rest = each.sum_of_within(self.copies - self.copies / 2, limits)?;
        let mut weight = W::zero();
        for (a, weight_a) in half.weighted() {
            let Ok(b) = E::Outcome::fit(wanted.widen() - a.widen()) else { continue };
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
            /// If there are no copies.
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
