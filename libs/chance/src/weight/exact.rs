//! Exact probabilities: whole numbers over a common total.
use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};

use super::arithmetic::{Arithmetic, Mass, PARTS};

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
    /// Integers are kept from rational arithmetic, which would look for common divisors with one.
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

/// A product of many `u64`, kept in machine words for as long as it fits.
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
