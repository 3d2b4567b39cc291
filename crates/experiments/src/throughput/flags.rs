//! What the user may set.

use clap::Args;
use harness::parse_duration;
use locks::{self};
use std::time::Duration;

/// ulockflex: throughput, fairness and waits of locks under children that work with and without them
///
/// Children loop: work without the lock, take it, work with it, release it; both works last a random time of 0.5 to 1.5
/// times the mean. Cells (lock × children × mix) take turns in random order. Without --nonhold and --hold the mixes are
/// those of 2002: 0+0, 0+10, 7+3 and 9+1 µs.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Locks to measure, separated by commas; `all`; `list` to print them; or the path of a shared object with a lock
    /// of your own (./libmine.so) [default: those of 2002 and today's common ones; with --share the reader/writer
    /// locks]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = locks::names(), hide_possible_values = true)]
    pub lock: Vec<String>,

    /// Children that share the locks; several numbers make several cells
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,2,4",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub children: Vec<u32>,

    /// Make the children processes, with the locks in memory that they share
    #[arg(long)]
    pub processes: bool,

    /// Locks that the children are dealt to, in turn; at most one for each child
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub locks: u32,

    /// Mean time without the lock, such as 7us
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub nonhold: Option<Duration>,

    /// Mean time with the lock, such as 3us
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub hold: Option<Duration>,

    /// Per cent of acquisitions that are for reading, for reader/writer locks; several numbers make several cells
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', default_value = "0",
          value_parser = clap::value_parser!(u32).range(0..=100))]
    pub share: Vec<u32>,

    /// How long the spinning locks of our own spin before they sleep
    #[arg(long, value_name = "TIME", default_value = "3us", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub patience: Duration,

    /// Length of one run; --seconds divides its budget into runs instead
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse_duration::budget, allow_hyphen_values = true)]
    pub run: Duration,

    /// Repeat a cell until the 95 % interval of its throughput is this narrow (0.05 is 5 %), at most 20 times
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = parse_duration::share)]
    pub precision: f64,

    /// What `latency` has and this has not: it is refused in words of its own.
    #[arg(long, value_name = "TIME", hide = true)]
    pub stop_above: Option<String>,
}

impl Flags {
    /// Whether the names of the locks are all that is wanted.
    pub fn asks_for_list(&self) -> bool {
        locks::asks_for_list(&self.lock)
    }
}
