//! What the user may set.

use super::limit::Limit;
use super::metric::Pattern;
use super::only::Only;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use harness::parse_count;
use std::path::PathBuf;

/// Stands for every lock.
pub const ALL: &str = "all";

/// Flags of a comparison of locks.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Another lock in its mutexes")]
pub struct SwapFlags {
    /// Run the program with other locks in its mutexes, plainly, and with the library alone (pass), in random turns,
    /// and say what that changes
    #[arg(long, value_name = "LOCK", value_delimiter = ',', value_parser = locks(), group = "compared",
          conflicts_with_all = ["full", "interval", "export"])]
    pub swap: Vec<String>,

    /// Exchange only the locks in these variables of the program, or the one at a place in it (locks+0x28), mutexes
    /// that a function initialises or is the first to take ('open_cache()'), or those that were waited for most in a
    /// watched run before (rank:1-3)
    #[arg(long, value_name = "MUTEX", requires = "swap", value_delimiter = ',')]
    pub swap_only: Vec<Only>,

    /// Look for the mutexes for which another lock pays, each alone, among the ten that were waited for most, and
    /// compare those together; the flags that do the same are printed
    #[arg(long, requires = "swap", conflicts_with = "swap_only")]
    pub search: bool,

    /// Compare a number that the program prints, too: the first group of this pattern, or all of it; with a name before
    /// it, as in tps=REGEX
    #[arg(long, value_name = "REGEX", requires = "compared")]
    pub metric: Vec<Pattern>,

    /// More of a metric is better: of these names, or of all
    #[arg(long, value_name = "NAME", requires = "metric", num_args = 0.., require_equals = true, value_delimiter = ',')]
    pub higher_is_better: Option<Vec<String>>,

    /// A command before each run, by the shell
    #[arg(long, value_name = "COMMAND", requires = "compared")]
    pub prepare: Option<String>,

    /// A command after each run, by the shell
    #[arg(long, value_name = "COMMAND", requires = "compared")]
    pub cleanup: Option<String>,

    /// The program is a server, and this command, by the shell, its client: it starts when the server listens, its end
    /// ends the turn, its time is the wall time, and metrics are looked for in what it prints
    #[arg(long, value_name = "COMMAND", requires = "compared")]
    pub client: Option<String>,

    /// The TCP port on which the server listens [default: the lowest that it listens on first]; the client finds it in
    /// $PORT
    #[arg(long, value_name = "PORT", requires = "client", value_parser = clap::value_parser!(u16).range(1..),
          allow_hyphen_values = true)]
    pub port: Option<u16>,

    /// Runs of each before those that count
    #[arg(long, value_name = "N", requires = "compared", value_parser = parse_count::within::<u64>(0..=1000),
          allow_hyphen_values = true)]
    pub warmup: Option<u64>,

    /// Runs of each variant, at least 6; with 24 comparisons or more (locks and pass, times metrics), at least 7
    /// [default: 6 to 30, until the ratio's interval is narrower than 2 %]
    #[arg(long, value_name = "N", requires = "compared", value_parser = parse_count::within::<u64>(6..=10_000),
          allow_hyphen_values = true)]
    pub runs: Option<u64>,

    /// Exit status 3 if a lock makes the program worse by more than this for certain: slower:5%
    #[arg(long, value_name = "LIMIT", requires = "swap", value_delimiter = ',')]
    pub fail_if: Vec<Limit>,

    /// Write libulocks_pthread.so to this file, for LD_PRELOAD, and run nothing
    #[arg(long, value_name = "FILE", conflicts_with = "swap")]
    pub swap_library: Option<PathBuf>,
}

impl SwapFlags {
    /// Whether locks are to be compared.
    pub fn is_asked_for(&self) -> bool {
        !self.swap.is_empty()
    }

    /// The locks, each once.
    pub fn locks(&self) -> Vec<&'static exchange::Named> {
        let is_named = |lock: &&exchange::Named| self.swap.iter().any(|name| name == ALL || name == lock.name);
        exchange::LOCKS.iter().filter(is_named).collect()
    }
}

fn locks() -> PossibleValuesParser {
    let named = exchange::LOCKS.iter().map(|lock| PossibleValue::new(lock.name).help(lock.about));
    let more = [
        PossibleValue::new(ALL).help("Each of them"),
        PossibleValue::new(exchange::PASS).help("None: the library alone, which is measured anyhow"),
    ];
    PossibleValuesParser::new(named.chain(more))
}
