//! The limits of an enumeration.
use crate::Error;

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
