//! `contend model`: what the scheduler's lottery does to a frame, and a machine's noise to a cluster in lock-step.
//!
//! Nothing is measured here and no clock is calibrated: figures are computed from the flags, or from a recorded trace.

mod frames;
mod show;
mod step;
mod trace;

pub use frames::{FramesRecord, Parameters as FramesParameters, Row as FramesRow, run as frames};
pub use step::{Method, Parameters as StepParameters, Row as StepRow, StepRecord, exact as step};
pub use trace::Trace;

use crate::cli::Outcome;
use crate::output::Destination;
use crate::session::Session;
use clap::{Args, Subcommand};

/// What follows from the scheduler's rules and from this machine's noise: exact, simulated and drawn
#[derive(Args, Clone, Debug)]
pub struct Flags {
    #[command(subcommand)]
    question: Question,
}

#[derive(Subcommand, Clone, Debug)]
enum Question {
    Frames(frames::Flags),
    Step(step::Flags),
}

/// Answers the question and delivers the record.
///
/// # Errors
/// Flags or a trace that make no sense, a table that would not fit into memory, a record that cannot be written.
pub fn deliver(flags: &Flags, session: &Session, destination: Destination) -> anyhow::Result<Outcome> {
    match &flags.question {
        Question::Frames(flags) => destination.deliver(&frames::run(flags, session)?),
        Question::Step(flags) => destination.deliver(&step::run(flags, session)?),
    }
}
