//! The flags of the experiment.

use clap::{Args, ValueEnum};
use harness::parse_duration;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Compute how often a competing thread spoils a frame, for two schedulers
///
/// A thread computes frames and never blocks; the competing threads never block either. Each quantum goes to one of
/// them: by the time-sharing lottery of 1999, or by Linux nice weights. Without options, the results of 1999 are
/// computed: priorities 20 and 10, 60 frames per second, quanta of 3 ms and of 100 µs.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Rule by which a thread gets a quantum
    #[arg(long, value_name = "POLICY", default_value = "lottery")]
    pub policy: Policy,

    /// Priorities: first that of the thread with the frames, then those of the competing threads [default: 20,10 for
    /// lottery; 0,10 for weights] [range: 1 to 99 for lottery; nice values from -20 to 19 for weights]
    #[arg(long, value_name = "P,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub priorities: Vec<i32>,

    /// Shares of the CPU instead of priorities, drawn by lottery: first that of the thread with the frames; their sum
    /// is 1
    #[arg(
        long,
        value_name = "SHARE,…",
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with = "priorities"
    )]
    pub shares: Vec<f64>,

    /// Length of a quantum; each value of a list is a table
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "3ms,100us", value_parser = parse_duration::span,
          allow_hyphen_values = true)]
    pub quantum: Vec<Duration>,

    /// Length of a frame [default: 1/60 s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub frame: Option<Duration>,

    /// Compute how often a frame loses more than this percentage [range: 0 to below 100]
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', default_value = "2", value_parser = percent,
          allow_hyphen_values = true)]
    pub more_than: Vec<f64>,

    /// Share of the CPU that the buffered animation needs [range: between 0 and 1]
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, value_parser = parse_duration::share, allow_hyphen_values = true)]
    pub needs: f64,

    /// Part of a frame that the buffered animation can compute in advance [default: a third] [range: 0 to 1000]
    #[arg(long, value_name = "FRAMES", value_parser = ahead, allow_hyphen_values = true)]
    pub ahead: Option<f64>,

    /// Print the frames of a recorded trace next to those of the model
    #[arg(long, value_name = "FILE")]
    pub beside: Option<PathBuf>,

    /// Length of the recording [default: the line `# span_ns N` of the trace, otherwise the end of its last gap]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, requires = "beside", allow_hyphen_values = true)]
    pub span: Option<Duration>,
}

/// The rule by which the scheduler chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// at random, with a factor of two per unit of priority (BeOS)
    Lottery,
    /// evenly spaced, by the weights of nice values (Linux)
    Weights,
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if (0.0..100.0).contains(&percent) => Ok(percent),
        _ => Err("must be a percentage from 0 to below 100, such as 2".into()),
    }
}

fn ahead(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(frames) if (0.0..=1000.0).contains(&frames) => Ok(frames),
        _ => Err("must be a number of frames from 0 to 1000, such as 0.333".into()),
    }
}
