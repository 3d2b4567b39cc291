//! What the user may set.

use clap::Args;
use harness::{EvidenceChoice, parse_duration};
use instruments::cpus::CpuSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Histograms of single lock and unlock operations, with lettered and explained spikes
///
/// Threads take a lock, hold it for a known time, and release it, as in the lock latency laboratory of 1998. Timestamps
/// around both give the latency of every single lock and unlock. Cells (lock × threads × competitors) take turns in
/// random order, and one without a lock among them says how well all are known.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Locks to measure, separated by commas; `all`; `list` to print them; or the path of a shared object with a lock
    /// of your own (./libmine.so)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "sysv,benaphore,std,parking_lot",
          value_parser = locks::names(), hide_possible_values = true)]
    pub lock: Vec<String>,

    /// Threads that want the lock; several numbers make several cells
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Vec<u16>,

    /// How long the lock is held each time, such as 250ns or 6.1us
    #[arg(long, value_name = "TIME", default_value = "6.1us", value_parser = parse_duration::hold, allow_hyphen_values = true)]
    pub hold: Duration,

    /// Threads that spin and want the CPU, not the lock; several numbers make several cells
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "0", value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub competitors: Vec<u16>,

    /// Where threads run: all on the first CPU, over the hardware threads of its core, over all CPUs (cores first), or
    /// over a list of CPUs such as 0,2
    #[arg(long, value_name = "one-cpu|one-core|spread|LIST", default_value = "one-cpu")]
    pub placement: Placement,

    /// Stop a cell early once the intervals of its medians and 99.9 % quantiles are this narrow (0.05 is 5 %)
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = parse_duration::share)]
    pub precision: f64,

    /// The kernel's record of who ran, for the spikes' causes: the best that may be read, or none. A quarter of the
    /// slices has it; their latencies are in no other figure
    #[arg(long, value_enum, value_name = "WHICH", default_value = "best")]
    pub evidence: EvidenceChoice,

    /// End at the first wait for a lock that is longer, tell who had the lock and what ran meanwhile, and exit with
    /// status 3. Every slice has the kernel's record then, which costs a switch some 0.4 µs
    #[arg(long, value_name = "TIME", value_parser = parse_duration::stop_above, allow_hyphen_values = true)]
    pub stop_above: Option<Duration>,

    /// Draw the histograms of all cells as text, not of four at most; the record and its page always have them
    #[arg(long)]
    pub histogram: bool,
}

impl Flags {
    /// Whether the names of the locks are all that is wanted.
    pub fn asks_for_list(&self) -> bool {
        locks::asks_for_list(&self.lock)
    }
}

/// Where the threads of a cell run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// All on the first CPU.
    OneCpu,
    /// One after the other over the CPUs that share the core of the first.
    OneCore,
    /// One after the other over all CPUs, one of each core first.
    Spread,
    /// One after the other over these.
    List(CpuSet),
}

impl FromStr for Placement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "one-cpu" => Ok(Self::OneCpu),
            "one-core" => Ok(Self::OneCore),
            "spread" => Ok(Self::Spread),
            list => list
                .parse()
                .map(Self::List)
                .map_err(|error| format!("neither one-cpu, one-core nor spread, nor a list of CPUs ({error})")),
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneCpu => formatter.write_str("one-cpu"),
            Self::OneCore => formatter.write_str("one-core"),
            Self::Spread => formatter.write_str("spread"),
            Self::List(cpus) => write!(formatter, "{cpus}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_are_words_or_lists() {
        assert_eq!("spread".parse(), Ok(Placement::Spread));
        assert_eq!("0,2-3".parse::<Placement>().unwrap().to_string(), "0,2-3");
        assert!("everywhere".parse::<Placement>().unwrap_err().contains("one-cpu"));
    }
}
