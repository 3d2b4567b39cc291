//! How far an enumeration may go before it gives up.

/// Bounds on an enumeration, so that a state space too large stops with an [`Error`](crate::Error), not the machine.
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
    /// What one table of distinct outcomes may occupy. By default 1 GiB. Heap memory that an outcome owns is not seen.
    /// While a table grows, the one it grows from and what has not merged yet are there too: two to three times as
    /// much.
    pub bytes: u64,
    /// Paths through one step, over all the states it starts from. By default 100 million.
    pub paths: u64,
    /// Draws on one path through one step. By default 10,000.
    pub draws: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 1 << 30, paths: 100_000_000, draws: 10_000 }
    }
}

impl Limits {
    /// Refuses a table of `states` outcomes of `each` bytes.
    pub(crate) fn admit(&self, states: u128, each: u128) -> Result<(), crate::Error> {
        let bytes = states.saturating_mul(each);
        if bytes <= u128::from(self.bytes) {
            return Ok(());
        }
        let shown = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        Err(crate::Error::TooLarge { states: shown(states), bytes: shown(bytes), limit: self.bytes })
    }
}
