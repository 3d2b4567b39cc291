//! A tally in bounded memory, for measurements of any length.

use crate::log_buckets::{index, middle};
use crate::tally::Tally;
use std::ops::Deref;

/// A tally with room for a fixed number of distinct values.
///
/// If there are more, it changes to values of eleven significant bits, which are exact to a part in two thousand:
/// about 1,000 values per octave. The smallest and the largest value stay exact.
///
/// # Examples
///
/// ```
/// use instruments::bounded_tally::BoundedTally;
///
/// let mut tally = BoundedTally::with_room(1 << 16);
/// (0..1_000).for_each(|part| tally.add(&(part * 1_000..(part + 1) * 1_000).collect()));
/// assert!(tally.distinct() < 1 << 16);
/// assert_eq!((tally.count(), tally.max()), (1_000_000, Some(999_999)));
/// let median = tally.quantile(0.5).unwrap() as f64;
/// assert!((median / 500_000.0 - 1.0).abs() < 0.001);
/// ```
#[derive(Clone, Debug)]
pub struct BoundedTally {
    all: Tally,
    room: usize,
    is_coarse: bool,
}

/// Eleven significant bits, the first of which is always set.
const BITS: u32 = 10;

impl Default for BoundedTally {
    /// Returns a tally that is exact up to 131,072 distinct values.
    fn default() -> Self {
        Self::with_room(1 << 17)
    }
}

impl BoundedTally {
    /// Returns a tally that is exact up to `room` distinct values.
    pub fn with_room(room: usize) -> Self {
        Self { all: Tally::new(), room, is_coarse: false }
    }

    /// Adds all values of `other`.
    pub fn add(&mut self, other: &Tally) {
        if self.is_coarse {
            let ends = [self.all.min().into_iter().chain(other.min()).min(), self.all.max().max(other.max())];
            self.all.merge(&coarsened(other, ends));
        } else {
            self.all.merge(other);
        }
        if self.all.distinct() > self.room {
            self.is_coarse = true;
            self.all = coarsened(&self.all, [self.all.min(), self.all.max()]);
        }
    }
}

impl From<Tally> for BoundedTally {
    fn from(tally: Tally) -> Self {
        let mut bounded = Self::default();
        bounded.add(&tally);
        bounded
    }
}

/// Dereferences to the tally of all added values.
impl Deref for BoundedTally {
    type Target = Tally;

    fn deref(&self) -> &Tally {
        &self.all
    }
}

/// Returns the tally with all values except `exact` rounded to the middle of the range that eleven bits leave open.
fn coarsened(tally: &Tally, exact: [Option<u64>; 2]) -> Tally {
    tally.map_values(|value| {
        let middle = middle::<BITS>(index::<BITS>(value));
        // The middle can be beyond the smallest or the largest value.
        let [low, high] = [exact[0].unwrap_or(0), exact[1].unwrap_or(u64::MAX)];
        if exact.contains(&Some(value)) { value } else { middle.clamp(low, high) }
    })
}
