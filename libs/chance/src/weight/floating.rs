//! Probabilities in `f64`.
use super::arithmetic::{Arithmetic, Mass, PARTS};

/// Up to here `f64` holds every whole number.
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
    /// As whole numbers for as long as `f64` holds those exactly: 15 paths out of 216 are then one rounding from
    /// 15/216.
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
