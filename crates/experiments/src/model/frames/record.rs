//! The results: the probability of each loss of a frame, and the effect on an animation.

use super::plan::Parameters;
use instruments::statistics::Interval;
use record::RecordRef;
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type FramesRecord<'a> = RecordRef<'a, Parameters, Row>;

/// A row, distinguished by its field `figure`.
///
/// Each has `lost_quanta` and the `probability` of its event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "figure", rename_all = "snake_case")]
pub enum Row {
    /// A frame loses exactly this many quanta.
    Lost(LostRow),
    /// A frame loses any.
    Any(AnyRow),
    /// A frame loses more than a share of its time.
    MoreThan(MoreThanRow),
    /// This many are lost within a few frames, with the effect on a buffered animation.
    Animation(AnimationRow),
}

/// An outcome of the distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostRow {
    pub quantum_us: f64,
    /// The number of quanta in a frame.
    pub quanta: u64,
    pub lost_quanta: u64,
    /// The lost share of the frame's quanta.
    pub lost_share: f64,
    pub probability: f64,
    /// The probability of losing more.
    pub more_probability: f64,
    /// The probability counted in a seeded simulation.
    pub simulated_probability: f64,
    /// The probability with the same shares by lottery; `null` where that is the policy.
    pub drawn_probability: Option<f64>,
    /// The frames of the trace whose loss is nearest to this many quanta.
    pub measured_probability: Option<f64>,
    /// The probability as printed in 1999.
    pub then_probability: Option<f64>,
}

/// The frames with a loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnyRow {
    pub quantum_us: f64,
    pub quanta: u64,
    /// The minimum loss: 1.
    pub lost_quanta: u64,
    pub probability: f64,
    /// The mean number of frames from one to the next; `null` for never.
    pub every_frames: Option<f64>,
    pub every_s: Option<f64>,
    pub then_every_frames: Option<f64>,
}

/// The frames that lose more than a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MoreThanRow {
    pub quantum_us: f64,
    pub quanta: u64,
    /// The largest loss that does not exceed the threshold.
    pub lost_quanta: u64,
    /// The threshold, as a share of the frame's quanta.
    pub more_than_share: f64,
    pub probability: f64,
    pub every_s: Option<f64>,
    pub simulated_probability: f64,
    /// The 95 % CI.
    pub simulated_ci: Interval,
    pub simulated_frames: u64,
    /// The frames of the trace that lose more than the threshold of their time.
    pub measured_probability: Option<f64>,
    /// The 95 % CI, if frames of the trace were independent.
    pub measured_ci: Option<Interval>,
    pub measured_frames: Option<u64>,
    /// The upper bound of 1999.
    pub then_probability: Option<f64>,
}

/// The buffered animation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnimationRow {
    pub quantum_us: f64,
    pub window_frames: u64,
    /// The number of quanta that it can lose at once with a full buffer.
    pub resisted_quanta: u64,
    /// The minimum number that is lost within the window: as many as it resists, or one.
    pub lost_quanta: u64,
    pub probability: f64,
    pub every_s: Option<f64>,
    /// The mean time from a full buffer to the first late picture; `null` for never.
    pub first_glitch_s: Option<f64>,
    /// The lower bound of 1999 on `every_s`.
    pub then_every_s: Option<f64>,
}

impl Row {
    /// Returns the quantum of the row.
    pub fn quantum_us(&self) -> f64 {
        match self {
            Self::Lost(row) => row.quantum_us,
            Self::Any(row) => row.quantum_us,
            Self::MoreThan(row) => row.quantum_us,
            Self::Animation(row) => row.quantum_us,
        }
    }
}
