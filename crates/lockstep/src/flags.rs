//! The flags of the program; the same for all ranks.

use crate::record::Collective;
use crate::watched::Injection;
use clap::{Command, CommandFactory, FromArgMatches, Parser};
use harness::{Example, UsageError, help, parse_count, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// Measure a bulk-synchronous job on MPI: ranks compute, then synchronise
///
/// Repetitions of the job alternate with repetitions that watch the noise of the ranks. The record has the measured
/// slowdown for one rank up to all ranks, next to the prediction of the model from the traces of the ranks. Start the
/// program with the launcher of your MPI, with the same options for all ranks.
#[derive(Parser, Clone, Debug)]
#[command(name = "lockstep", version)]
pub struct Flags {
    /// Computing time of each rank per step [range: 20us to 1s]
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub step: Duration,

    /// Operation that synchronises the ranks after each step
    #[arg(long, value_name = "OPERATION", default_value = "barrier")]
    pub collective: Collective,

    /// Time budget of the whole run: seconds (2, 0.5) or a value with a unit (90s, 2min) [range: up to 10min]
    #[arg(long, value_name = "TIME", default_value = "10", value_parser = parse_duration::budget, allow_hyphen_values = true)]
    pub seconds: Duration,

    /// Interrupt each rank for LENGTH once per PERIOD, as in 200us:10ms, with a random phase per rank
    #[arg(long, value_name = "LENGTH:PERIOD")]
    pub inject: Option<Injection>,

    /// Give up after waiting for another rank for this long beyond the length of a repetition [range: from 1s]
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub patience: Duration,

    /// Seed for all random choices [default: derived from the time, stored in the record]
    #[arg(long, value_name = "N", value_parser = parse_count::count, allow_hyphen_values = true)]
    pub seed: Option<u64>,

    /// Write the record to FILE; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

const EXAMPLES: &[Example] = &[
    (
        "mpirun -n 2 lockstep --output job.json",
        "Measure two ranks; `contend lockstep job.json` shows and saves the record",
    ),
    ("srun -n 256 lockstep --step 100us --seconds 60 --output job.json", "Measure shorter steps, under Slurm"),
    (
        "mpirun -n 2 lockstep --inject 200us:10ms --output job.json",
        "Measure with interruptions of known length and period",
    ),
];

const SHORTEST_STEP: Duration = Duration::from_micros(20);
const LONGEST_STEP: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(600);

impl Flags {
    /// Returns the program's command line, with its help.
    pub fn definition() -> Command {
        help::laid_out(help::with_examples(Self::command(), EXAMPLES))
    }

    /// Returns the flags of this process.
    ///
    /// # Errors
    /// A flag is wrong, or the help or the version was requested.
    pub fn of_process() -> Result<Self, clap::Error> {
        Self::definition().try_get_matches().and_then(|matches| Self::from_arg_matches(&matches))
    }

    /// Checks that the flags are valid together.
    ///
    /// # Errors
    /// A flag is invalid; the error says what is allowed.
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

    /// Returns the flags as text, which is the same for all ranks with the same flags.
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
