//! Runs of other people's programs: once or again and again, alone or as a server with its client.
//!
//! An experiment that compares variants of a program (other locks, shorter critical sections) makes a [`Plan`] of its
//! flags. The plan runs the program with what the variant puts into its environment, finds the program's own metrics in
//! its output, and traces it with `contend trace`. One that compares different programs uses the [`Scene`] of a run itself.
//! Nothing here knows the kinds of variants.

mod client;
mod flags;
mod guardian;
mod plan;
mod process;
mod program;
mod proposal;
mod scene;
mod traced;
mod usage;

pub use client::Client;
pub use flags::{ComparisonFlags, LaunchFlags, Limit, Metric, PATIENCE, ProgramFlags, RunFlags};
pub use plan::{FEWEST_RUNS, Plan, is_within, not_judged, preload, ratio, spread, unsteady};
pub use process::{Failed, FinishedRun, Pause};
pub use program::{CommandLine, Program, executable};
pub use proposal::{Proposal, RateNotCompared};
pub use scene::{Scene, Variables};
pub use traced::{Traced, TracedLock};
pub use usage::Usage;
