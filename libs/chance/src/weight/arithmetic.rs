//! The operations behind [`Weight`](super::Weight), out of reach so that they may change.

/// The probability of one path, as a part of a whole.
pub struct Mass<W> {
    pub(crate) part: W,
    pub(crate) of: W,
}

/// What a sampled probability is rounded to: parts of 2^60.
pub(crate) const PARTS: u64 = 1 << 60;

pub trait Arithmetic: Sized {
    type Number;

    fn zero() -> Self;
    fn one() -> Self;
    fn is_nothing(&self) -> bool;
    fn plus(&mut self, other: &Self);
    /// Divides by `sum` where that keeps numbers in range; whole numbers stay.
    fn normalise(&mut self, sum: &Self);
    fn times(&self, other: &Self) -> Self;
    /// The mass of a path from each draw's weight and total.
    fn mass(draws: impl Iterator<Item = (u64, u64)>) -> Mass<Self>;
    /// A denominator for both wholes: never less than `a`, which it replaces.
    fn common(a: &Self, b: &Self) -> Self;
    /// `self / divisor`; whole numbers are known to leave no remainder.
    fn over(&self, divisor: &Self) -> Self;
    fn ratio(&self, total: &Self) -> Self::Number;
    /// `self / total` as the nearest `f64`, without reducing the fraction.
    fn share(&self, total: &Self) -> f64;
    /// `number` counted `self` times.
    fn of(&self, number: Self::Number) -> Self::Number;
    /// Adds to a sum of such.
    fn add(sum: &mut Self::Number, number: Self::Number);
    fn integer(value: i128) -> Self::Number;
    fn heap_bytes(&self) -> u64;
    /// Bytes of a weight of the `copies`-fold power of a table with this total.
    fn bytes_of_power(&self, copies: u64) -> u128;
    /// `self / total` in parts of 2^60, rounded.
    fn parts(&self, total: &Self) -> u64;
    fn raise(&self, exponent: u64) -> Self;
    /// Coefficients of the polynomial `weights` raised to `copies`.
    fn power(weights: &[Self], copies: u64) -> Vec<Self>;
    /// For ascending `weights` with sum `total`: the weights of the greatest of `copies`.
    fn greatest(weights: &[&Self], total: &Self, copies: u64) -> Vec<Self>;
}
