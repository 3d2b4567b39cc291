//! The flags of the experiment.

use clap::{Args, ValueEnum, ValueHint};
use harness::{UsageError, parse_count, parse_duration};
use loops::ring::Class;
use std::path::PathBuf;
use std::time::Duration;

/// Measure context switches: stackless threads, kernel threads, other runtimes
///
/// Threads form a ring and pass a token around (the thread ring of 2008). Contestants in other languages are built and
/// run if their toolchain is installed. All contestants, and the limits of the machine, are interleaved in random order. Every result is checked: the thread that gets the last token has the number (hops mod threads) + 1.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Contestants, separated by commas [default: all; --list prints the names]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub contestant: Vec<String>,

    /// Only contestants of these classes
    #[arg(long, value_name = "CLASSES", value_delimiter = ',')]
    pub class: Vec<Class>,

    /// Number of threads in the ring; each number of a list is a ring [range: 1 to 10000000]
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "503",
          value_parser = parse_count::within::<u32>(1..=10_000_000), allow_hyphen_values = true)]
    pub threads: Vec<u32>,

    /// Number of hops of every run [default: a number that takes each contestant about the same time] [range: 0 to
    /// 4000000000]
    #[arg(long, value_name = "N", value_parser = parse_count::within::<u64>(0..=4_000_000_000), allow_hyphen_values = true)]
    pub hops: Option<u64>,

    /// Number of threads of the large ring of stackless threads, measured in order and shuffled; 0 skips it [range: 0
    /// to 10000000]
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = parse_count::within::<u32>(0..=10_000_000),
          allow_hyphen_values = true)]
    pub large: u32,

    /// CPUs of the contestants
    #[arg(long, value_name = "WHERE", default_value = "both")]
    pub placement: Placement,

    /// Do not measure memory
    #[arg(long)]
    pub no_memory: bool,

    /// Kill a contestant, or the check of its toolchain, that runs longer than this, and report it as hung
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration::budget, allow_hyphen_values = true)]
    pub timeout: Duration,

    /// Repeat until the 95 % confidence interval of the time per hop is this narrow (0.05 is 5 %), at most 30 times
    /// [range: between 0 and 1]
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = parse_duration::share)]
    pub precision: f64,

    /// Directory with a recipe.toml and the sources of more contestants; can be given several times
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub recipe: Vec<PathBuf>,

    /// Also compare contestants of different classes, in one table
    #[arg(long)]
    pub across_classes: bool,

    /// Print the contestants, and the requirements of those that cannot run here
    #[arg(long)]
    pub list: bool,

    /// Run one built-in contestant as a separate program: print the number of the thread that got the last token
    #[arg(long, num_args = 3, value_names = ["NAME", "THREADS", "HOPS"], hide = true)]
    pub alone: Vec<String>,
}

/// The CPUs of the contestants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Placement {
    /// the first CPU of --cpus
    Pinned,
    /// any CPU of --cpus, chosen by the kernel
    Free,
    /// first pinned, then free
    Both,
}

impl Placement {
    /// Returns whether pinned, one after the other.
    pub fn turns(self) -> &'static [bool] {
        match self {
            Self::Pinned => &[true],
            Self::Free => &[false],
            Self::Both => &[true, false],
        }
    }
}

impl Flags {
    /// Returns whether a contestant of this name and class is requested.
    pub fn asks_for(&self, name: &str, class: Class) -> bool {
        (self.contestant.is_empty() || self.names(name)) && (self.class.is_empty() || self.class.contains(&class))
    }

    /// Returns whether a contestant is requested by its name.
    pub fn names(&self, name: &str) -> bool {
        self.contestant.iter().any(|requested| requested == name)
    }

    /// Checks for names that no contestant has, and for classes that exclude all names.
    pub fn check<'a>(&self, known: impl Iterator<Item = (&'a str, Class)> + Clone) -> Result<(), UsageError> {
        if let Some(unknown) =
            self.contestant.iter().find(|requested| known.clone().all(|(name, _)| name != **requested))
        {
            return Err(UsageError(format!(
                "--contestant {unknown}: no contestant has this name; `contend ring --list` prints them"
            )));
        }
        if !known.clone().any(|(name, class)| self.asks_for(name, class)) {
            return Err(UsageError("--class: none of the selected contestants has this class".into()));
        }
        Ok(())
    }
}
