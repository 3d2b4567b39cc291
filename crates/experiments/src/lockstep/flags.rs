//! What the user may set.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// A job in lock-step on MPI, measured beside what the model predicts from its ranks' own noise
///
/// The program `lockstep` measures it, a process a rank: `mpirun -n 2 lockstep --output job.json`, or `srun lockstep`.
/// This shows its record, and keeps it.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// The record that the job wrote (- is standard input)
    #[arg(value_name = "RECORD", value_hint = ValueHint::FilePath)]
    pub record: PathBuf,
}
