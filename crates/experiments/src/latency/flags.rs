//! The flags of the experiment.

use clap::Args;
use harness::{EvidenceChoice, parse_duration};
use instruments::cpus::CpuSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Measure every lock and unlock: latency histograms with each spike attributed
///
/// Threads acquire a lock, hold it for a known time and release it, as in the lock latency laboratory of 1998.
/// Timestamps around each operation give the latency of every single lock and unlock. Spikes in a histogram are labelled with letters; their causes are listed below it. Configurations (lock × threads × competing threads) are interleaved in random order; one of them has no lock and shows the accuracy of all others.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Locks to measure: names separated by commas, `all`, `list` (print the names and exit), or the path of a shared
    /// object with a user-supplied lock (./libmine.so)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "sysv,benaphore,std,parking_lot",
          value_parser = locks::names(), hide_possible_values = true)]
    pub lock: Vec<String>,

    /// Number of threads that compete for the lock; each number of a list is a configuration [range: 1 to 65535]
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Vec<u16>,

    /// Hold time of the critical section, such as 250ns or 6.1us [range: 0 to 10ms]
    #[arg(long, value_name = "TIME", default_value = "6.1us", value_parser = parse_duration::hold, allow_hyphen_values = true)]
    pub hold: Duration,

    /// Number of competing threads, which spin on the CPU and never use the lock; each number of a list is a
    /// configuration [range: 0 to 1024]
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "0", value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub competitors: Vec<u16>,

    /// CPUs of the threads: one-cpu (the first CPU), one-core (the hardware threads of its core), spread (all CPUs, one
    /// per core first), or a list such as 0,2
    #[arg(long, value_name = "WHERE", default_value = "one-cpu")]
    pub placement: Placement,

    /// Stop a configuration early once the 95 % confidence intervals of its median and p99.9 latencies are this narrow
    /// (0.05 is 5 %) [range: between 0 and 1]
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = parse_duration::share)]
    pub precision: f64,

    /// Kernel events, used to attribute spikes. A quarter of the windows records them; the latencies of those windows are excluded from all other results
    #[arg(long, value_enum, value_name = "SOURCE", default_value = "best")]
    pub evidence: EvidenceChoice,

    /// Stop at the first wait for a lock above this, report its holder and the threads that ran during the wait, and
    /// exit with status 3. Every window then records kernel events, which costs about 0.4 µs per context switch [range:
    /// from 1us]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::stop_above, allow_hyphen_values = true)]
    pub stop_above: Option<Duration>,

    /// Print the histograms of all configurations as text, instead of four at most. The record and its HTML report
    /// always contain all
    #[arg(long)]
    pub histogram: bool,
}

impl Flags {
    /// Returns whether only the list of the locks is requested.
    pub fn asks_for_list(&self) -> bool {
        locks::asks_for_list(&self.lock)
    }
}

/// The CPUs of the threads of a cell.
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
                .map_err(|error| format!("must be one-cpu, one-core, spread or a list of CPUs ({error})")),
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
