//! Errors between a description and its answer.

/// Why an experiment has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The table of distinct outcomes outgrew [`Limits::bytes`](crate::Limits::bytes).
    #[error("stopped at {states} distinct outcomes in {bytes} bytes: the limit is {limit} bytes")]
    TooLarge {
        /// Distinct outcomes reached, or foreseen where the size is known beforehand.
        states: u64,
        /// Memory that they occupy.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// One step branched into more paths than [`Limits::paths`](crate::Limits::paths).
    #[error("stopped after {paths} paths through one step: split it with `then` or `repeat`, so equal outcomes merge")]
    TooManyPaths {
        /// Paths followed.
        paths: u64,
    },
    /// One path made more draws than [`Limits::draws`](crate::Limits::draws): often a loop without a bound.
    #[error("stopped after {draws} draws on one path: a loop that only chance ends has infinitely many outcomes")]
    TooManyDraws {
        /// Draws on that path.
        draws: usize,
    },
    /// The experiment requested other draws when it was run again with the same answers.
    #[error("the experiment depends on something besides its draws: run again, it drew differently")]
    Unrepeatable,
    /// A continuous value was drawn during enumeration.
    #[error("a continuous draw has no finite list of outcomes: simulate it, or cut it with `Distribution::binned`")]
    Continuous,
    /// A condition that never holds.
    #[error("the condition never holds: nothing is left to give probabilities to")]
    Impossible,
    /// A simulation that met its condition in none of its tries.
    #[error("the condition held in none of {tries} tries")]
    Rejected {
        /// Attempts made.
        tries: u64,
    },
    /// A source without an outcome of positive weight.
    #[error("a source needs at least one outcome with a positive weight")]
    NoOutcomes,
    /// Weights whose total does not fit in 64 bits.
    #[error("the weights add up to more than a u64 can hold")]
    WeightsTooLarge,
    /// Probabilities that do not sum to one.
    #[error("the probabilities sum to {sum}, not to one")]
    NotOne {
        /// Their sum.
        sum: f64,
    },
    /// A probability that is negative, above one or not a number.
    #[error("probability {position} is {value}: it must lie between 0 and 1")]
    BadProbability {
        /// Which, counted from 1.
        position: usize,
        /// Its value.
        value: f64,
    },
    /// A number that an experiment cannot be built from.
    #[error("{name} is {value}: {allowed}")]
    BadParameter {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values.
        allowed: &'static str,
    },
    /// The greatest or least of no copies at all.
    #[error("the greatest or least of zero copies does not exist")]
    NoCopies,
    /// A sum that does not fit its outcome type.
    #[error("the sums reach {value}, which the outcome type cannot hold")]
    Overflow {
        /// The sum.
        value: i128,
    },
}
