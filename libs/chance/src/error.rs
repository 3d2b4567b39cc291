//! The errors of experiments, and the limits of an enumeration.

/// The reason for which an experiment has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The table of distinct outcomes exceeded [`Limits::bytes`](crate::Limits::bytes).
    #[error("stopped at {states} distinct outcomes in {bytes} bytes: the limit is {limit} bytes")]
    TooLarge {
        /// Distinct outcomes reached, or expected where the size is known in advance.
        states: u64,
        /// Memory that the outcomes occupy, in bytes.
        bytes: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// One step branched into more paths than [`Limits::paths`](crate::Limits::paths).
    #[error("stopped after {paths} paths through one step: split it with `then` or `repeat`, so equal outcomes merge")]
    TooManyPaths {
        /// The number of paths taken.
        paths: u64,
    },
    /// One path made more draws than [`Limits::draws`](crate::Limits::draws), often because of a loop without a
    /// bound.
    #[error("stopped after {draws} draws on one path: a loop that only chance ends has infinitely many outcomes")]
    TooManyDraws {
        /// The number of draws on that path.
        draws: usize,
    },
    /// The experiment made other draws when it was run again with the same choices.
    #[error("the experiment depends on something besides its draws: run again, it drew differently")]
    Unrepeatable,
    /// The experiment drew a continuous value during an enumeration.
    #[error("a continuous draw has no finite list of outcomes: simulate it, or cut it with `Distribution::binned`")]
    Continuous,
    /// A condition never holds.
    #[error("the condition never holds: nothing is left to give probabilities to")]
    Impossible,
    /// A simulation met its condition in none of its attempts.
    #[error("the condition held in none of {tries} tries")]
    Rejected {
        /// The number of attempts.
        tries: u64,
    },
    /// A source has no outcome of positive weight.
    #[error("a source needs at least one outcome with a positive weight")]
    NoOutcomes,
    /// The sum of the weights does not fit in 64 bits.
    #[error("the weights add up to more than a u64 can hold")]
    WeightsTooLarge,
    /// The probabilities do not sum to one.
    #[error("the probabilities sum to {sum}, not to one")]
    NotOne {
        /// The sum of the probabilities.
        sum: f64,
    },
    /// A probability is negative, above one or not a number.
    #[error("probability {position} is {value}: it must lie between 0 and 1")]
    BadProbability {
        /// Its position, counted from 1.
        position: usize,
        /// Its value.
        value: f64,
    },
    /// An experiment cannot be built from this number.
    #[error("{name} is {value}: {allowed}")]
    BadParameter {
        /// The name of the parameter.
        name: &'static str,
        /// The value of the parameter.
        value: f64,
        /// The allowed values.
        allowed: &'static str,
    },
    /// The greatest or least of zero copies does not exist.
    #[error("the greatest or least of zero copies does not exist")]
    NoCopies,
    /// A sum does not fit its outcome type.
    #[error("the sums reach {value}, which the outcome type cannot hold")]
    Overflow {
        /// The sum.
        value: i128,
    },
}

/// The limits of an enumeration, beyond which it stops with an [`Error`] before the memory of the machine is full.
///
/// # Examples
///
/// ```
/// use chance::{Chance, Distribution, Error, Experiment, Limits, constant};
///
/// let tight = Limits { bytes: 10_000, ..Limits::default() };
/// let walk = constant(0_u64).repeat(40, |chance: &mut Chance, bits: u64| bits * 2 + chance.below(2));
/// let stopped = Distribution::<_, f64>::within(&walk, &tight);
/// assert!(matches!(stopped, Err(Error::TooLarge { states, .. }) if states > 300));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory that one table of distinct outcomes may occupy, in bytes. Default: 1 GiB.
    ///
    /// Heap memory that an outcome owns is not counted. While a table grows, the previous table and the outcomes that
    /// are not merged yet also occupy memory: two to three times as much.
    pub bytes: u64,
    /// Paths through one step, over all states from which it starts. Default: 100 million.
    pub paths: u64,
    /// Draws on one path through one step. Default: 10,000.
    pub draws: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 1 << 30, paths: 100_000_000, draws: 10_000 }
    }
}

impl Limits {
    /// Rejects a table of `states` outcomes of `each` bytes that exceeds the limit.
    pub(crate) fn admit(&self, states: u128, each: u128) -> Result<(), Error> {
        let bytes = states.saturating_mul(each);
        if bytes <= u128::from(self.bytes) {
            return Ok(());
        }
        let shown = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        Err(Error::TooLarge { states: shown(states), bytes: shown(bytes), limit: self.bytes })
    }
}
