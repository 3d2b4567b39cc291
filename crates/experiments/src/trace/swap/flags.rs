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
#[command(next_help_heading = "Substitute another lock")]
pub struct SwapFlags {
    /// Run PROGRAM unmodified, with the library only (pass), and with each LOCK in its mutexes, in random order, and
    /// compare the results
    #[arg(long, value_name = "LOCK", value_delimiter = ',', value_parser = locks(), group = "compared",
          conflicts_with_all = ["full", "interval", "export"])]
    pub swap: Vec<String>,

    /// Substitute only these mutexes: a global variable (cache_lock), an offset into one (locks+0x28), those
    /// initialised or first acquired by a function ('open_cache()'), or those with the longest total wait in a traced
    /// run before (rank:1-3)
    #[arg(long, value_name = "MUTEX", requires = "swap", value_delimiter = ',')]
    pub swap_only: Vec<Only>,

    /// Test substitution for each of the ten mutexes with the longest total wait, then for the best ones together;
    /// print the equivalent options
    #[arg(long, requires = "swap", conflicts_with = "swap_only")]
    pub search: bool,

    /// Also compare a number in the program's output: the first capture group, or the whole match. Name it with
    /// tps=REGEX
    #[arg(long, value_name = "REGEX", requires = "compared")]
    pub metric: Vec<Pattern>,

    /// Higher values are better for the named metrics [default: all]
    #[arg(long, value_name = "NAME", requires = "metric", num_args = 0.., require_equals = true, value_delimiter = ',')]
    pub higher_is_better: Option<Vec<String>>,

    /// Shell command to run before each run
    #[arg(long, value_name = "COMMAND", requires = "compared")]
    pub prepare: Option<String>,

    /// Shell command to run after each run
    #[arg(long, value_name = "COMMAND", requires = "compared")]
    pub cleanup: Option<String>,

    /// PROGRAM is a server, and COMMAND its client, a shell command: COMMAND starts once the server listens, and its
    /// end ends the run; its run time is the wall time, and --metric searches its output
    #[arg(long, value_name = "COMMAND", requires = "compared")]
    pub client: Option<String>,

    /// TCP port of the server, passed to the client as $PORT [default: the lowest port that the server opens first]
    #[arg(long, value_name = "PORT", requires = "client", value_parser = clap::value_parser!(u16).range(1..),
          allow_hyphen_values = true)]
    pub port: Option<u16>,

    /// Warm-up runs of each variant [range: 0 to 1000]
    #[arg(long, value_name = "N", requires = "compared", value_parser = parse_count::within::<u64>(0..=1000),
          allow_hyphen_values = true)]
    pub warmup: Option<u64>,

    /// Measured runs of each variant; with 24 comparisons or more (locks and pass, times metrics), at least 7 [default: 6
    /// to 30, until the confidence interval of the ratio is narrower than 2 %] [range: 6 to 10000]
    #[arg(long, value_name = "N", requires = "compared", value_parser = parse_count::within::<u64>(6..=10_000),
          allow_hyphen_values = true)]
    pub runs: Option<u64>,

    /// Exit with status 3 if a lock makes the program slower by more than LIMIT with 95 % confidence, for example
    /// slower:5%
    #[arg(long, value_name = "LIMIT", requires = "swap", value_delimiter = ',')]
    pub fail_if: Vec<Limit>,

    /// Write libulocks_pthread.so to FILE for use with LD_PRELOAD, and exit
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
        PossibleValue::new(ALL).help("all of the above"),
        PossibleValue::new(exchange::PASS).help("library only, no substitution (always included)"),
    ];
    PossibleValuesParser::new(named.chain(more))
}
