//! The two arithmetics of probability: exact, as whole-number weights over a common total, and `f64`.
//!
//! Exact tables hold integers, not fractions: six faces of a die are six ones out of six, and a thousand dice are
//! integers out of 6^1000. Adding is integer addition, nothing is reduced until someone asks for a probability, and a
//! sum of one is an equality of integers. The price is size: n draws out of d make numbers of n·log2(d) bits.
pub(crate) mod arithmetic;
mod exact;
mod floating;

use std::fmt::Debug;

use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::ToPrimitive;

/// Weights as whole numbers of any size: probabilities are exact [`BigRational`]s.
pub type Exact = BigUint;

/// How probabilities are computed: [`Exact`] or `f64`. Sealed.
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
pub trait Weight: Clone + PartialEq + Debug + arithmetic::Arithmetic<Number = <Self as Weight>::Probability> {
    /// What a probability or a mean is given in.
    type Probability: num_traits::Num + Clone + PartialOrd + Debug;

    /// The nearest `f64`.
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
