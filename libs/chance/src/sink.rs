//! Where the outcomes of an enumeration go.
use std::borrow::Cow;

use crate::{Error, Weight};

/// Where an enumeration sends its outcomes.
pub trait Sink<T, W: Weight> {
    /// Makes the whole of every part `total` times as large: a part's probability is `part / (of · total)`.
    fn scale(&mut self, total: &W);

    /// Takes a portion of an outcome's probability: `part` out of `of`.
    ///
    /// # Errors
    /// When the sink can hold no more.
    fn outcome(&mut self, outcome: T, part: Cow<'_, W>, of: &W) -> Result<(), Error>;
}
