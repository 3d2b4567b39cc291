//! The flags of the experiment.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Compare a measured MPI job with the prediction from its ranks' noise
///
/// The program `lockstep` measures the bulk-synchronous job, with one process per rank: `mpirun -n 2 lockstep --output
/// job.json`, or `srun lockstep`. This command shows the record of the job and saves it in the archive.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Record that the job wrote (- is standard input)
    #[arg(value_name = "RECORD", value_hint = ValueHint::FilePath)]
    pub record: PathBuf,
}
