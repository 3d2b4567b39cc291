//! What the user may set.

use clap::{Args, ValueEnum, ValueHint};
use harness::{UsageError, parse_count, parse_duration};
use loops::ring::Class;
use std::path::PathBuf;
use std::time::Duration;

/// The thread ring: what a switch costs in stackless threads, threads of the kernel and other runtimes
///
/// Threads stand in a ring and pass a token around, as in 2008. Contestants in other languages are built and run if
/// their toolchain is here. All of them, and the limits that the machine sets, take turns in random order. Every answer
/// is checked: the thread that gets the last token is number hops mod threads + 1.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Contestants, separated by commas [default: all; --list names them]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub contestant: Vec<String>,

    /// Only contestants of these classes
    #[arg(long, value_name = "CLASSES", value_delimiter = ',')]
    pub class: Vec<Class>,

    /// Threads in the ring; several numbers make several rings
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "503",
          value_parser = parse_count::within::<u32>(1..=10_000_000), allow_hyphen_values = true)]
    pub threads: Vec<u32>,

    /// Hops of every run [default: as many as take each contestant about the same time]
    #[arg(long, value_name = "N", value_parser = parse_count::within::<u64>(0..=4_000_000_000), allow_hyphen_values = true)]
    pub hops: Option<u64>,

    /// Threads of the large ring of stackless threads, in order and shuffled; 0 for none
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = parse_count::within::<u32>(0..=10_000_000),
          allow_hyphen_values = true)]
    pub large: u32,

    /// Keep contestants on one CPU, let the kernel place them, or both in turn
    #[arg(long, value_name = "WHERE", default_value = "both")]
    pub placement: Placement,

    /// Do not measure memory
    #[arg(long)]
    pub no_memory: bool,

    /// A contestant that runs for longer, or the check of its toolchain, is killed, and reported as hung
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration::budget, allow_hyphen_values = true)]
    pub timeout: Duration,

    /// Repeat until the 95 % interval of the time of a hop is this narrow (0.05 is 5 %), at most 30 times
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = parse_duration::share)]
    pub precision: f64,

    /// A folder with a recipe.toml and sources of more contestants; can be given several times
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub recipe: Vec<PathBuf>,

    /// Compare contestants of different classes too, in one table
    #[arg(long)]
    pub across_classes: bool,

    /// Print the contestants, and what those that cannot run here need
    #[arg(long)]
    pub list: bool,

    /// Be one built-in contestant, as a program among programs: print the number of the thread that got the last token
    #[arg(long, num_args = 3, value_names = ["NAME", "THREADS", "HOPS"], hide = true)]
    pub alone: Vec<String>,
}

/// Where contestants run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Placement {
    /// On the first of --cpus
    Pinned,
    /// Wherever on --cpus the kernel puts them
    Free,
    /// One after the other
    Both,
}

impl Placement {
    /// Whether pinned: one after the other.
    pub fn turns(self) -> &'static [bool] {
        match self {
            Self::Pinned => &[true],
            Self::Free => &[false],
            Self::Both => &[true, false],
        }
    }
}

impl Flags {
    /// Whether a contestant of this name and class was asked for.
    pub fn asks_for(&self, name: &str, class: Class) -> bool {
        (self.contestant.is_empty() || self.names(name)) && (self.class.is_empty() || self.class.contains(&class))
    }

    /// Whether a contestant was asked for by its name.
    pub fn names(&self, name: &str) -> bool {
        self.contestant.iter().any(|requested| requested == name)
    }

    /// Names that no contestant has, and classes that leave none of the names.
    ///
    /// # Errors
    /// There are such.
    pub fn check<'a>(&self, known: impl Iterator<Item = (&'a str, Class)> + Clone) -> Result<(), UsageError> {
        if let Some(unknown) =
            self.contestant.iter().find(|requested| known.clone().all(|(name, _)| name != **requested))
        {
            return Err(UsageError(format!(
                "--contestant {unknown}: no contestant has this name; `contend ring --list` prints them"
            )));
        }
        if !known.clone().any(|(name, class)| self.asks_for(name, class)) {
            return Err(UsageError("--class: none of the contestants asked for is of such a class".into()));
        }
        Ok(())
    }
}
