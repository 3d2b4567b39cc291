//! The plan: which experiments, with which flags, in how much of the time. A part of the survey is the experiment that the
//! user could run alone with the same flags.

use crate::session::Session;
use clap::{Args, Command, ValueEnum};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// An experiment as a part of the survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    Clock,
    Latency,
    Throughput,
    Noise,
    Load,
    Ring,
    Model,
}

const DEFAULT_BUDGET: Duration = Duration::from_secs(100);

impl Part {
    /// The order in which they run. The load is measured in a forked child before the ring has a runtime with threads.
    pub const ALL: [Self; 7] =
        [Self::Clock, Self::Latency, Self::Throughput, Self::Noise, Self::Load, Self::Ring, Self::Model];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Latency => "latency",
            Self::Throughput => "throughput",
            Self::Noise => "noise",
            Self::Load => "load",
            Self::Ring => "ring",
            Self::Model => "model",
        }
    }

    /// What it gets of the time, in parts of all that run. A model is computed.
    fn weight(self) -> u32 {
        match self {
            Self::Clock => 7,
            Self::Latency => 30,
            Self::Throughput => 14,
            Self::Noise => 26,
            Self::Load => 7,
            Self::Ring => 16,
            Self::Model => 0,
        }
    }

    /// The flags of its short form. Cells are few; those that the old documents have are among them.
    fn words(self) -> &'static str {
        match self {
            Self::Clock => "",
            Self::Latency => "--lock sysv,benaphore,std --threads 1,2 --competitors 0,1",
            Self::Throughput => "--lock sysv,usema,pthread,std,adaptive --children 2,4 --nonhold 7us --hold 3us",
            Self::Noise => "--scenario quiet,competitor,both",
            Self::Load => "--grinders 2 --interval 500ms",
            Self::Ring => {
                "--contestant rust-optimum,rust-fifo,rust-async-fifo,rust-corosensei,tokio-notify,rust-futex,\
                 rust-pthread-condvar,c-protothreads-optimum,c-protothreads-pessimum,c-pthread-mutex \
                 --large 0 --placement pinned --no-memory"
            }
            Self::Model => "frames",
        }
    }
}

/// Everything that the measurement needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The time for all parts.
    pub budget: Duration,
    pub parts: Vec<PartPlan>,
}

/// A part and its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartPlan {
    pub part: Part,
    pub budget: Duration,
}

/// What a record says of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartParameters {
    pub experiment: String,
    /// The same as a command of its own.
    pub command: String,
    pub budget_s: f64,
}

impl Plan {
    /// Divides the session's budget, 100 s by default.
    pub fn of(parts: &[Part], session: &Session) -> Self {
        let budget = session.seconds.unwrap_or(DEFAULT_BUDGET);
        let all: u32 = parts.iter().map(|part| part.weight()).sum();
        let share = |part: Part| budget * part.weight() / all.max(1);
        Self { budget, parts: parts.iter().map(|&part| PartPlan { part, budget: share(part) }).collect() }
    }

    /// Whether anything is measured, not only computed.
    pub fn measures(&self) -> bool {
        self.parts.iter().any(|planned| planned.part != Part::Model)
    }
}

impl PartPlan {
    /// The flags of the experiment, its defaults filled in.
    ///
    /// # Errors
    /// Words that are no flags of the experiment, which a test rules out.
    pub fn flags<F: Args>(&self) -> Result<F, clap::Error> {
        // The model's first word chooses a question; the flags are the question's.
        let words = self.part.words().split_whitespace().filter(|_| self.part != Part::Model);
        let command = F::augment_args(Command::new(self.part.name()).no_binary_name(true));
        F::from_arg_matches(&command.try_get_matches_from(words)?)
    }

    /// What the record says of it.
    pub fn parameters(&self) -> PartParameters {
        let budget_s = self.budget.as_secs_f64();
        let words = [self.part.name(), self.part.words()].join(" ");
        let seconds = if self.part == Part::Model { String::new() } else { format!(" --seconds {budget_s:.1}") };
        let command = format!("contend {}{seconds}", words.trim());
        PartParameters { experiment: self.part.name().to_owned(), command, budget_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::{clock, latency, load, noise, ring, throughput};

    fn read<F: Args>(part: Part) -> bool {
        PartPlan { part, budget: Duration::from_secs(1) }.flags::<F>().is_ok()
    }

    #[test]
    fn every_part_is_a_command_that_its_experiment_understands() {
        assert!(read::<clock::Flags>(Part::Clock) && read::<latency::Flags>(Part::Latency));
        assert!(read::<throughput::Flags>(Part::Throughput) && read::<noise::Flags>(Part::Noise));
        assert!(read::<load::Flags>(Part::Load) && read::<ring::Flags>(Part::Ring));
    }

    #[test]
    fn a_part_can_be_run_alone() {
        let load = PartPlan { part: Part::Load, budget: Duration::from_millis(7_200) };
        assert_eq!(load.parameters().command, "contend load --grinders 2 --interval 500ms --seconds 7.2");
    }
}
