//! Options of the user.

use super::variant::MutexFilter;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use launch::{ComparisonFlags, Limit};
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
          conflicts_with_all = ["full", "interval", "export", "save", "pid", "cgroup", "container", "every"])]
    pub swap: Vec<String>,

    /// Substitute only these mutexes: a global variable (cache_lock), an offset into one (locks+0x28), those
    /// initialised or first acquired by a function ('open_cache()'), or those with the longest total wait in a traced
    /// run before (rank:1-3)
    #[arg(long, value_name = "MUTEX", requires = "swap", value_delimiter = ',')]
    pub swap_only: Vec<MutexFilter>,

    /// Test substitution for each of the ten mutexes with the longest total wait, then for the best ones together;
    /// print the equivalent options
    #[arg(long, requires = "swap", conflicts_with = "swap_only")]
    pub search: bool,

    #[command(flatten)]
    pub comparison: ComparisonFlags,

    /// Exit with status 3 if a lock makes the program slower by more than LIMIT with 95 % confidence, for example
    /// slower:5%
    #[arg(long, value_name = "LIMIT", requires = "swap", value_delimiter = ',')]
    pub fail_if: Vec<Limit>,

    /// Write libulocks_pthread.so to FILE for use with LD_PRELOAD, and exit
    #[arg(long, value_name = "FILE", conflicts_with = "swap")]
    pub swap_library: Option<PathBuf>,
}

impl SwapFlags {
    /// Returns the locks, each once.
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
