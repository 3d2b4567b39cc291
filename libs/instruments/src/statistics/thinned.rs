//! Samples of an endless sequence of values in bounded memory, spread evenly over all values.

use std::ops::Deref;

/// All values as long as there is room; then every second, every fourth, and so on.
///
/// # Examples
///
/// ```
/// use instruments::statistics::Thinned;
///
/// let mut values = Thinned::default();
/// (0..1_000_000).for_each(|value| values.push(value));
/// assert_eq!(values.count(), 1_000_000);
/// assert!((2_048..=4_096).contains(&values.len()));
/// // The kept values are evenly spaced.
/// assert!(values.windows(2).all(|pair| pair[1] - pair[0] == values[1] - values[0]));
/// ```
#[derive(Clone, Debug)]
pub struct Thinned<T> {
    values: Vec<T>,
    room: usize,
    /// Distance between two kept values.
    step: u64,
    count: u64,
}

/// Default room: the median of this number of values is as good as that of all.
const ROOM: usize = 4_096;

impl<T> Default for Thinned<T> {
    fn default() -> Self {
        Self::with_room(ROOM)
    }
}

impl<T> Thinned<T> {
    /// Returns an empty sequence with room for `room` values.
    ///
    /// # Panics
    ///
    /// Panics if `room` is less than two.
    pub fn with_room(room: usize) -> Self {
        assert!(room >= 2, "there must be room for two values");
        Self { values: Vec::new(), room, step: 1, count: 0 }
    }

    /// Adds the next value.
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

    /// Returns the number of values added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        *self = Self::with_room(self.room);
    }
}

impl<T> Extend<T> for Thinned<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

/// Dereferences to the kept values.
impl<T> Deref for Thinned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}
