//! What the user may set; the same for all ranks.

use crate::injection::Injection;
use crate::record::Collective;
use clap::Parser;
use harness::{UsageError, parse_count, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// The lock-step job on MPI: each rank computes for a fixed time, then meets the others
///
/// Turns of steps and turns of watching alternate. The record has the measured slowdown for 1 rank to all beside what
/// the model predicts from the ranks' own traces. Start it with your MPI's launcher; all ranks get the same flags.
#[derive(Parser, Clone, Debug)]
#[command(name = "lockstep", version, after_help = EXAMPLES)]
pub struct Flags {
    /// Work of a step on each rank
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub step: Duration,

    /// How the ranks meet after each step
    #[arg(long, value_name = "HOW", default_value = "barrier")]
    pub collective: Collective,

    /// Time budget of the whole run, in seconds (2, 0.5) or with a unit (90s, 2min)
    #[arg(long, value_name = "TIME", default_value = "10", value_parser = parse_duration::budget, allow_hyphen_values = true)]
    pub seconds: Duration,

    /// Interrupt each rank for so long every so often, as in 200us:10ms, from a random phase of its own on
    #[arg(long, value_name = "TIME:TIME")]
    pub inject: Option<Injection>,

    /// Give up after waiting for another rank for so long, beside a turn's own length
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub patience: Duration,

    /// Seed of every random choice [default: from the time; the record has it]
    #[arg(long, value_name = "N", value_parser = parse_count::count, allow_hyphen_values = true)]
    pub seed: Option<u64>,

    /// Write the record to this file; `-` is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

const EXAMPLES: &str = "Examples:
  mpirun -n 2 lockstep --output job.json
          Two ranks; `contend lockstep job.json` shows the record and keeps it
  srun -n 256 lockstep --step 100us --seconds 60 --output job.json
          Shorter steps, under Slurm
  mpirun -n 2 lockstep --inject 200us:10ms --output job.json
          With interruptions of known form";

const SHORTEST_STEP: Duration = Duration::from_micros(20);
const LONGEST_STEP: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(600);

impl Flags {
    /// That they make sense together.
    ///
    /// # Errors
    /// Which does not, and what would.
    pub fn check(&self) -> Result<(), UsageError> {
        let wrong = |text: String| Err(UsageError(text));
        if !(SHORTEST_STEP..=LONGEST_STEP).contains(&self.step) {
            return wrong(format!("--step {:?}: must be from {SHORTEST_STEP:?} to {LONGEST_STEP:?}", self.step));
        }
        if self.seconds > LONGEST {
            return wrong(format!("--seconds {:?}: must be at most {LONGEST:?}", self.seconds));
        }
        if self.patience < Duration::from_secs(1) {
            return wrong(format!("--patience {:?}: must be at least 1s", self.patience));
        }
        Ok(())
    }

    /// In words that are the same for all who were called alike.
    pub fn words(&self) -> String {
        let injected = self.inject.map_or_else(|| "none".to_owned(), |injection| injection.to_string());
        let seed = self.seed.map_or_else(|| "from the time".to_owned(), |seed| seed.to_string());
        format!(
            "--step {:?} --collective {} --seconds {:?} --inject {injected} --patience {:?} --seed {seed}",
            self.step,
            self.collective.name(),
            self.seconds,
            self.patience,
        )
    }
}
