//! What came out: how often a frame loses how much, and what that does to an animation.

use super::plan::Parameters;
use instruments::statistics::Interval;
use record::RecordRef;
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type FramesRecord<'a> = RecordRef<'a, Parameters, Row>;

/// A row, told from the others by its field `figure`. Each has `lost_quanta` and the `probability` of what it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "figure", rename_all = "snake_case")]
pub enum Row {
    /// A frame loses exactly so many quanta.
    Lost(LostRow),
    /// A frame loses any.
    Any(AnyRow),
    /// A frame loses more than a share of its time.
    MoreThan(MoreThanRow),
    /// So many are lost within a few frames, and what that does to a buffered animation.
    Animation(AnimationRow),
}

/// An outcome of the distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostRow {
    pub quantum_us: f64,
    /// Quanta in a frame.
    pub quanta: u64,
    pub lost_quanta: u64,
    /// Of the frame's quanta.
    pub lost_share: f64,
    pub probability: f64,
    /// The probability of losing more.
    pub more_probability: f64,
    /// Counted in a seeded simulation.
    pub simulated_probability: f64,
    /// The same shares drawn by lot; `null` where the policy does that anyway.
    pub drawn_probability: Option<f64>,
    /// Frames of the trace whose loss is nearest to this many quanta.
    pub measured_probability: Option<f64>,
    /// As printed in 1999.
    pub then_probability: Option<f64>,
}

/// Frames with a loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnyRow {
    pub quantum_us: f64,
    pub quanta: u64,
    /// At least: 1.
    pub lost_quanta: u64,
    pub probability: f64,
    /// `null` for never.
    pub every_frames: Option<f64>,
    pub every_s: Option<f64>,
    pub then_every_frames: Option<f64>,
}

/// Frames that lose more than a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MoreThanRow {
    pub quantum_us: f64,
    pub quanta: u64,
    /// The most that is not more than the threshold.
    pub lost_quanta: u64,
    /// The threshold, of the frame's quanta.
    pub more_than_share: f64,
    pub probability: f64,
    pub every_s: Option<f64>,
    pub simulated_probability: f64,
    /// 95 %.
    pub simulated_ci: Interval,
    pub simulated_frames: u64,
    /// Frames of the trace that lose more than the threshold of their time.
    pub measured_probability: Option<f64>,
    /// 95 %, if frames of the trace were independent.
    pub measured_ci: Option<Interval>,
    pub measured_frames: Option<u64>,
    /// 1999's upper bound.
    pub then_probability: Option<f64>,
}

/// The buffered animation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnimationRow {
    pub quantum_us: f64,
    pub window_frames: u64,
    /// Quanta that it can lose at once with a full buffer.
    pub resisted_quanta: u64,
    /// At least so many are lost within the window: as many as it resists, or one.
    pub lost_quanta: u64,
    pub probability: f64,
    pub every_s: Option<f64>,
    /// Mean time from a full buffer to the first picture that is late; `null` for never.
    pub first_glitch_s: Option<f64>,
    /// 1999's lower bound on `every_s`.
    pub then_every_s: Option<f64>,
}

impl Row {
    /// The quantum that the row is about.
    pub fn quantum_us(&self) -> f64 {
        match self {
            Self::Lost(row) => row.quantum_us,
            Self::Any(row) => row.quantum_us,
            Self::MoreThan(row) => row.quantum_us,
            Self::Animation(row) => row.quantum_us,
        }
    }
}
