//! Options of the user.

use clap::Args;
use harness::parse_duration;
use locks::{self};
use std::time::Duration;

/// Measure locks under contention: throughput, fairness and waiting times
///
/// This is ulockflex of 2002. Children (threads or processes) loop: work without the lock, acquire it, work with it,
/// release it. Both parts of the work last a random time of 0.5 to 1.5 times their mean. Configurations (lock × children × mix) are interleaved in random order. Without --nonhold and --hold, the mixes are those of 2002: 0+0, 0+10, 7+3 and
/// 9+1 µs.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Locks to measure: names separated by commas, `all`, `list` (print the names and exit), or the path of a shared
    /// object with a user-supplied lock (./libmine.so) [default: the locks of 2002 and common ones of today; with
    /// --share, the reader-writer locks]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = locks::names(), hide_possible_values = true)]
    pub lock: Vec<String>,

    /// Number of children that share the locks; each number of a list is a configuration [range: 1 to 100000]
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,2,4",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub children: Vec<u32>,

    /// Make the children processes, with the locks in shared memory
    #[arg(long)]
    pub processes: bool,

    /// Number of locks, assigned to the children in rotation; at most one per child
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub locks: u32,

    /// Mean time without the lock, such as 7us [default: the mixes of 2002]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub nonhold: Option<Duration>,

    /// Mean hold time, such as 3us [default: the mixes of 2002]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub hold: Option<Duration>,

    /// Percentage of acquisitions for reading, for reader-writer locks; each number of a list is a configuration
    /// [range: 0 to 100]
    #[arg(long, value_name = "PERCENT,…", value_delimiter = ',', default_value = "0",
          value_parser = clap::value_parser!(u32).range(0..=100))]
    pub share: Vec<u32>,

    /// Let every second child hold the lock for this multiple of its hold time [range: 1 to 1000000]
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub hold_ratio: u32,

    /// Draw the lock of each iteration by Zipf's law with this exponent, instead of assigning one to each child; needs
    /// --locks [range: 0 (all equally often) to 10]
    #[arg(long, value_name = "EXPONENT", value_parser = exponent, allow_hyphen_values = true)]
    pub zipf: Option<f64>,

    /// Number of cache lines of shared data that each critical section reads and writes; each number of a list is a
    /// configuration [range: 0 to 65536]
    #[arg(long, value_name = "LINES,…", value_delimiter = ',', default_value = "0",
          value_parser = clap::value_parser!(u32).range(0..=65_536))]
    pub touch: Vec<u32>,

    /// Raise the number of active children from 1 to --children in each run, doubling it step by step, and lower it again
    #[arg(long)]
    pub ramp: bool,

    /// Stop a lock holder once per run for this long, such as 10ms, and measure the time until the throughput recovers
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub stop_holder: Option<Duration>,

    /// Measure the questions that decide between locks, each as a configuration: a thread for each CPU, more threads,
    /// unequal hold times, data in the critical section, many locks, a changing number of threads, a stopped holder
    #[arg(long, conflicts_with_all = ["children", "locks", "nonhold", "hold", "share", "hold_ratio", "zipf", "touch", "ramp",
          "stop_holder"])]
    pub questions: bool,

    /// Spin limit of contend's own spinning locks, after which they block
    #[arg(long, value_name = "TIME", default_value = "3us", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub patience: Duration,

    /// Length of one run, with a unit or in seconds; with --seconds, an equal part of its budget instead
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse_duration::budget, allow_hyphen_values = true)]
    pub run: Duration,

    /// Repeat a configuration until the 95 % confidence interval of its throughput is this narrow (0.05 is 5 %), at
    /// most 20 times [range: between 0 and 1]
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = parse_duration::share)]
    pub precision: f64,

    /// A flag of `latency` that this experiment lacks. It is parsed so that the refusal can explain why.
    #[arg(long, value_name = "TIME", hide = true)]
    pub stop_above: Option<String>,
}

/// Returns an exponent of Zipf's law.
fn exponent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(exponent) if (0.0..=10.0).contains(&exponent) => Ok(exponent),
        _ => Err("must be a number from 0 to 10, such as 1".into()),
    }
}

impl Flags {
    /// Returns whether the names of the locks are all that is wanted.
    pub fn asks_for_list(&self) -> bool {
        locks::asks_for_list(&self.lock)
    }
}
