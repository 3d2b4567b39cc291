//! Outcomes that can be added.
use crate::Error;

/// A whole-number outcome: every primitive integer but `u128`.
pub trait Integer: Copy + Ord {
    /// Returns the number as an `i128`.
    fn widen(self) -> i128;

    /// Converts a number to this type.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Overflow`] if it does not fit.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Error, Integer};
    /// assert_eq!(u8::fit(200), Ok(200));
    /// assert_eq!(u8::fit(300), Err(Error::Overflow { value: 300 }));
    /// ```
    fn fit(value: i128) -> Result<Self, Error>;
}

macro_rules! integers {
    ($($kind:ty)*) => {$(
        impl Integer for $kind {
            fn widen(self) -> i128 {
                self as i128
            }

            fn fit(value: i128) -> Result<Self, Error> {
                Self::try_from(value).map_err(|_| Error::Overflow { value })
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 i128 isize);
