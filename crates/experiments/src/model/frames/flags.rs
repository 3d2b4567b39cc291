//! What the user may set.

use clap::{Args, ValueEnum};
use harness::parse_duration;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// How often another busy thread spoils a frame: the time-sharing lottery of 1999, or Linux nice weights
///
/// A thread computes frames and never blocks; beside it others never block either. Every quantum goes to one of them.
/// Without flags it computes the figures of 1999: priorities 20 and 10, 60 frames a second, a quantum of 3 ms and one
/// of 100 µs.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Who gets a quantum
    #[arg(long, value_name = "POLICY", default_value = "lottery")]
    pub policy: Policy,

    /// Priorities: first the thread with the frames, then each competitor; 1 to 99 in the lottery, nice values of -20
    /// to 19 for weights [default: 20,10 in the lottery, 0,10 for weights]
    #[arg(long, value_name = "P,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub priorities: Vec<i32>,

    /// Shares of the CPU in place of priorities, drawn by lot, first that of the thread with the frames; they sum to 1
    #[arg(
        long,
        value_name = "SHARE,…",
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with = "priorities"
    )]
    pub shares: Vec<f64>,

    /// How long a thread runs once it was chosen; several make several tables
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "3ms,100us", value_parser = parse_duration::span,
          allow_hyphen_values = true)]
    pub quantum: Vec<Duration>,

    /// Length of a frame [default: a 60th of a second]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub frame: Option<Duration>,

    /// Ask how often a frame loses more than this many per cent
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', default_value = "2", value_parser = percent,
          allow_hyphen_values = true)]
    pub more_than: Vec<f64>,

    /// The buffered animation: the share of the CPU that it needs
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, value_parser = parse_duration::share, allow_hyphen_values = true)]
    pub needs: f64,

    /// The buffered animation: how much of a frame's computation it can do ahead [default: a third]
    #[arg(long, value_name = "FRAMES", value_parser = ahead, allow_hyphen_values = true)]
    pub ahead: Option<f64>,

    /// Put the frames of a recorded trace beside the model's
    #[arg(long, value_name = "FILE")]
    pub beside: Option<PathBuf>,

    /// How long the trace's recording lasted [default: its line `# span_ns N`, else the end of its last gap]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, requires = "beside", allow_hyphen_values = true)]
    pub span: Option<Duration>,
}

/// How the scheduler chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// By lot, with a factor of two for each unit of priority (BeOS)
    Lottery,
    /// In turn, by the weights of nice values (Linux)
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
