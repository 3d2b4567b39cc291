//! Values that come one after the other without an end, of which so many are kept as there is room for: spread evenly
//! over all that came.

use std::ops::Deref;

/// Every one of the values as long as there is room; then every second, every fourth, and so on.
///
/// ```
/// use instruments::statistics::Thinned;
///
/// let mut values = Thinned::default();
/// (0..1_000_000).for_each(|value| values.push(value));
/// assert_eq!(values.count(), 1_000_000);
/// assert!((2_048..=4_096).contains(&values.len()));
/// // Evenly: what is kept has the same step from one to the next.
/// assert!(values.windows(2).all(|pair| pair[1] - pair[0] == values[1] - values[0]));
/// ```
#[derive(Clone, Debug)]
pub struct Thinned<T> {
    values: Vec<T>,
    room: usize,
    /// One of so many is kept.
    step: u64,
    count: u64,
}

/// The median of so many is as good as that of all.
const ROOM: usize = 4_096;

impl<T> Default for Thinned<T> {
    fn default() -> Self {
        Self::with_room(ROOM)
    }
}

impl<T> Thinned<T> {
    /// With room for so many.
    ///
    /// # Panics
    /// With room for fewer than two.
    pub fn with_room(room: usize) -> Self {
        assert!(room >= 2, "there must be room for two values");
        Self { values: Vec::new(), room, step: 1, count: 0 }
    }

    /// The next value.
    pub fn push(&mut self, value: T) {
        if self.count.is_multiple_of(self.step) {
            if self.values.len() == self.room {
                let mut place = 0;
                self.values.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.step *= 2;
            }
            if self.count.is_multiple_of(self.step) {
                self.values.push(value);
            }
        }
        self.count += 1;
    }

    /// How many came.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Forgets them all.
    pub fn clear(&mut self) {
        *self = Self::with_room(self.room);
    }
}

impl<T> Extend<T> for Thinned<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

/// Those that are kept.
impl<T> Deref for Thinned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}
