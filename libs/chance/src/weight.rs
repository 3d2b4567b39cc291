//! The two arithmetics of probability: exact, as whole-number weights over a common total, and `f64`.
//!
//! Exact tables hold integers, not fractions: the six faces of a die are six ones out of six, and a thousand dice are
//! integers out of 6^1000. An addition is an integer addition, and nothing is reduced until a probability is
//! requested. The check that a sum is one is an equality of integers. The price is size: n draws out of d make
//! numbers of n·log2(d) bits.

use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};
use std::fmt::Debug;

/// Weights as whole numbers of any size, for which probabilities are exact [`BigRational`]s.
pub type Exact = BigUint;

/// The arithmetic of probabilities, [`Exact`] or `f64`; a sealed trait.
///
/// # Examples
///
/// ```
/// use chance::{Chance, Distribution, Exact, Weight};
///
/// fn even<W: Weight>() -> f64 {
///     let die = |chance: &mut Chance| chance.die(6) % 2;
///     W::to_f64(&Distribution::<_, W>::of(&die).unwrap().probability(&0))
/// }
/// assert_eq!((even::<Exact>(), even::<f64>()), (0.5, 0.5));
/// ```
pub trait Weight: Clone + PartialEq + Debug + Arithmetic<Number = <Self as Weight>::Probability> {
    /// The type of a probability or a mean.
    type Probability: num_traits::Num + Clone + PartialOrd + Debug;

    /// Returns the nearest `f64`.
    fn to_f64(number: &Self::Probability) -> f64;
}

impl Weight for f64 {
    type Probability = f64;

    fn to_f64(number: &f64) -> f64 {
        *number
    }
}

impl Weight for BigUint {
    type Probability = BigRational;

    fn to_f64(number: &BigRational) -> f64 {
        number.to_f64().unwrap_or(f64::NAN)
    }
}

// The operations behind [`Weight`]. This module does not export them, so they can change.

/// The probability of one path, as a part of a total.
pub struct Mass<W> {
    pub(crate) part: W,
    pub(crate) of: W,
}

/// The denominator to which a sampled probability is rounded: 2^60 parts.
pub(crate) const PARTS: u64 = 1 << 60;

pub trait Arithmetic: Sized {
    type Number;

    fn zero() -> Self;
    fn one() -> Self;
    fn is_nothing(&self) -> bool;
    fn plus(&mut self, other: &Self);
    /// Divides by `sum` where this keeps numbers in range; whole numbers stay unchanged.
    fn normalise(&mut self, sum: &Self);
    fn times(&self, other: &Self) -> Self;
    /// Returns the mass of a path from the weight and the total of each draw.
    fn mass(draws: impl Iterator<Item = (u64, u64)>) -> Mass<Self>;
    /// Returns a common denominator of both, never less than `a`, which it replaces.
    fn common(a: &Self, b: &Self) -> Self;
    /// Returns `self / divisor`; the caller ensures that whole numbers leave no remainder.
    fn over(&self, divisor: &Self) -> Self;
    fn ratio(&self, total: &Self) -> Self::Number;
    /// Returns `self / total` as the nearest `f64`, without a reduction of the fraction.
    fn share(&self, total: &Self) -> f64;
    /// Returns `number` counted `self` times.
    fn of(&self, number: Self::Number) -> Self::Number;
    /// Adds to a sum of results of `of`.
    fn add(sum: &mut Self::Number, number: Self::Number);
    fn integer(value: i128) -> Self::Number;
    fn heap_bytes(&self) -> u64;
    /// Returns the bytes of a weight of the `copies`-fold power of a table with this total.
    fn bytes_of_power(&self, copies: u64) -> u128;
    /// Returns `self / total` in parts of 2^60, rounded.
    fn parts(&self, total: &Self) -> u64;
    fn raise(&self, exponent: u64) -> Self;
    /// Returns the coefficients of the polynomial `weights` raised to `copies`.
    fn power(weights: &[Self], copies: u64) -> Vec<Self>;
    /// Returns the weights of the greatest of `copies`, for ascending `weights` with sum `total`.
    fn greatest(weights: &[&Self], total: &Self, copies: u64) -> Vec<Self>;
}

impl Arithmetic for BigUint {
    type Number = BigRational;

    fn zero() -> Self {
        Zero::zero()
    }
    fn one() -> Self {
        One::one()
    }
    fn is_nothing(&self) -> bool {
        self.is_zero()
    }
    fn plus(&mut self, other: &Self) {
        *self += other;
    }
    fn normalise(&mut self, _: &Self) {}
    fn times(&self, other: &Self) -> Self {
        if other.is_one() { self.clone() } else { self * other }
    }
    fn mass(draws: impl Iterator<Item = (u64, u64)>) -> Mass<Self> {
        let (mut part, mut of) = (Product::new(), Product::new());
        for (weight, total) in draws {
            part.push(weight);
            of.push(total);
        }
        Mass { part: part.finish(), of: of.finish() }
    }
    fn common(a: &Self, b: &Self) -> Self {
        a.lcm(b)
    }
    fn over(&self, divisor: &Self) -> Self {
        self / divisor
    }
    fn ratio(&self, total: &Self) -> BigRational {
        BigRational::new(BigInt::from(self.clone()), BigInt::from(total.clone()))
    }
    fn share(&self, total: &Self) -> f64 {
        BigRational::new_raw(self.clone().into(), total.clone().into()).to_f64().unwrap_or(f64::NAN)
    }
    /// Integers do not enter rational arithmetic, which would search for common divisors with one.
    fn of(&self, number: BigRational) -> BigRational {
        let weight = BigInt::from(self.clone());
        if number.is_integer() { BigRational::from_integer(number.numer() * weight) } else { number * weight }
    }
    fn add(sum: &mut BigRational, number: BigRational) {
        if sum.is_integer() && number.is_integer() {
            *sum = BigRational::from_integer(sum.numer() + number.numer());
        } else {
            *sum += number;
        }
    }
    fn integer(value: i128) -> BigRational {
        BigRational::from_integer(BigInt::from(value))
    }
    fn heap_bytes(&self) -> u64 {
        self.bits().div_ceil(64) * 8
    }
    fn bytes_of_power(&self, copies: u64) -> u128 {
        (u128::from(self.bits()) * u128::from(copies)).div_ceil(8)
    }
    fn parts(&self, total: &Self) -> u64 {
        (((self << 61_u32) / total + 1_u32) >> 1_u32).to_u64().unwrap_or(PARTS)
    }
    fn raise(&self, exponent: u64) -> Self {
        num_traits::Pow::pow(self, exponent)
    }
    fn power(weights: &[Self], copies: u64) -> Vec<Self> {
        crate::power::by_recurrence(weights, copies)
    }
    fn greatest(weights: &[&Self], _: &Self, copies: u64) -> Vec<Self> {
        crate::power::greatest_exact(weights, copies)
    }
}

/// A product of many `u64`, in machine words while it fits.
struct Product {
    large: Option<BigUint>,
    small: u64,
}

impl Product {
    fn new() -> Self {
        Self { large: None, small: 1 }
    }

    fn push(&mut self, factor: u64) {
        match self.small.checked_mul(factor) {
            Some(product) => self.small = product,
            None => {
                let small = std::mem::replace(&mut self.small, factor);
                self.large = Some(self.large.take().map_or_else(|| BigUint::from(small), |large| large * small));
            }
        }
    }

    fn finish(self) -> BigUint {
        self.large.map_or_else(|| BigUint::from(self.small), |large| large * self.small)
    }
}

/// The limit up to which `f64` holds every whole number.
const LARGEST_WHOLE: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

impl Arithmetic for f64 {
    type Number = f64;

    fn zero() -> Self {
        0.0
    }
    fn one() -> Self {
        1.0
    }
    fn is_nothing(&self) -> bool {
        *self == 0.0
    }
    fn plus(&mut self, other: &Self) {
        *self += other;
    }
    fn normalise(&mut self, sum: &Self) {
        *self /= sum;
    }
    fn times(&self, other: &Self) -> Self {
        self * other
    }
    /// Counts in whole numbers while `f64` holds them exactly: 15 paths out of 216 are then one rounding from 15/216.
    fn mass(draws: impl Iterator<Item = (u64, u64)>) -> Mass<Self> {
        draws.fold(Mass { part: 1.0, of: 1.0 }, |Mass { part, of }, (weight, total)| {
            let (part, of) = (part * weight as f64, of * total as f64);
            if of <= LARGEST_WHOLE { Mass { part, of } } else { Mass { part: part / of, of: 1.0 } }
        })
    }
    fn common(a: &Self, b: &Self) -> Self {
        let common = if a % b == 0.0 {
            *a
        } else if b % a == 0.0 {
            *b
        } else {
            a * b
        };
        if common <= LARGEST_WHOLE { common } else { *a }
    }
    fn over(&self, divisor: &Self) -> Self {
        self / divisor
    }
    fn ratio(&self, total: &Self) -> f64 {
        self / total
    }
    fn share(&self, total: &Self) -> f64 {
        self / total
    }
    fn of(&self, number: f64) -> f64 {
        self * number
    }
    fn add(sum: &mut f64, number: f64) {
        *sum += number;
    }
    fn integer(value: i128) -> f64 {
        value as f64
    }
    fn heap_bytes(&self) -> u64 {
        0
    }
    fn bytes_of_power(&self, _: u64) -> u128 {
        0
    }
    fn parts(&self, total: &Self) -> u64 {
        (self / total * PARTS as f64).round() as u64
    }
    fn raise(&self, exponent: u64) -> Self {
        self.powf(exponent as f64)
    }
    fn power(weights: &[Self], copies: u64) -> Vec<Self> {
        match weights {
            [a, b] => crate::power::by_ratios(*a, *b, copies),
            _ => crate::power::by_squaring(weights, copies),
        }
    }
    fn greatest(weights: &[&Self], total: &Self, copies: u64) -> Vec<Self> {
        crate::power::greatest_f64(weights, *total, copies)
    }
}
