//! A part of the story of an event, in a record.

use instruments::evidence::Cause;
use serde::{Deserialize, Serialize};

/// Somebody who had the CPU for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoryPart {
    /// Since the event began; before it, negative.
    pub from_us: f64,
    pub length_us: f64,
    #[serde(flatten)]
    pub who: Cause,
}
