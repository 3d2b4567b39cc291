//! What the user may set, and the plan of cells that comes of it.

use clap::Args;
use harness::EvidenceChoice;
use harness::Session;
use harness::UsageError;
use harness::parse_duration;
use instruments::cpus::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Histograms of single lock and unlock operations, with lettered and explained spikes
///
/// Threads take a lock, hold it for a known time, and release it. Two timestamps a round give every single lock
/// latency; every unlock latency follows by subtracting the calibrated hold time, as in the lock latency laboratory of
/// 1998. Cells (lock × threads × competitors) take turns in random order.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Locks to measure, separated by commas; `all`; or `list` to print them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "sysv,benaphore,std,parking_lot",
          value_parser = locks::names(), hide_possible_values = true)]
    lock: Vec<String>,

    /// Threads that want the lock; several numbers make several cells
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Vec<u16>,

    /// How long the lock is held each time, such as 250ns or 6.1us
    #[arg(long, value_name = "TIME", default_value = "6.1us", value_parser = parse_duration::hold, allow_hyphen_values = true)]
    hold: Duration,

    /// Threads that spin and want the CPU, not the lock; several numbers make several cells
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "0", value_parser = clap::value_parser!(u16).range(0..=1024))]
    competitors: Vec<u16>,

    /// Where threads run: all on the first CPU, one after the other over all, or a list of CPUs such as 0,2
    #[arg(long, value_name = "one-cpu|spread|LIST", default_value = "one-cpu")]
    placement: Placement,

    /// Stop a cell early once the intervals of its medians and 99.9 % quantiles are this narrow (0.05 is 5 %)
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = parse_duration::share)]
    precision: f64,

    /// The kernel's record of who ran, for the spikes' causes: the best that may be read, or none. A quarter of the slices
    /// has it; their latencies are in no other figure
    #[arg(long, value_enum, value_name = "WHICH", default_value = "best")]
    evidence: EvidenceChoice,
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
    /// One after the other over all CPUs.
    Spread,
    /// One after the other over these.
    List(CpuSet),
}

impl FromStr for Placement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "one-cpu" => Ok(Self::OneCpu),
            "spread" => Ok(Self::Spread),
            list => list
                .parse()
                .map(Self::List)
                .map_err(|error| format!("neither one-cpu nor spread nor a list of CPUs ({error})")),
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneCpu => formatter.write_str("one-cpu"),
            Self::Spread => formatter.write_str("spread"),
            Self::List(cpus) => write!(formatter, "{cpus}"),
        }
    }
}

/// What is compared: one combination of lock, threads and competitors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellPlan {
    /// The lock's name.
    pub lock: String,
    /// Threads that want it.
    pub threads: usize,
    /// Threads that only want the CPU.
    pub competitors: usize,
}

impl fmt::Display for CellPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |number: usize| if number == 1 { "" } else { "s" };
        write!(formatter, "{}, {} thread{}", self.lock, self.threads, plural(self.threads))?;
        match self.competitors {
            0 => Ok(()),
            number => write!(formatter, ", {number} competitor{}", plural(number)),
        }
    }
}

/// Everything that the measurement needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The cells.
    pub cells: Vec<CellPlan>,
    /// How long the lock is held, in nanoseconds.
    pub hold_ns: f64,
    /// As asked for.
    pub placement: Placement,
    /// The CPUs that threads are dealt to, in turn.
    pub cpus: Vec<usize>,
    /// The time for all cells together.
    pub budget: Duration,
    /// The relative width at which an interval is narrow enough.
    pub precision: f64,
    /// Whether causes are looked for.
    pub evidence: EvidenceChoice,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    /// Locks, in the order asked for.
    pub locks: Vec<String>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Numbers of competitors.
    pub competitors: Vec<usize>,
    /// How long the lock is held, in microseconds.
    pub hold_us: f64,
    /// `one-cpu`, `spread` or a list.
    pub placement: String,
    /// The CPUs that threads are dealt to, in turn.
    pub cpus: Vec<usize>,
    /// The time budget for all cells together, in seconds.
    pub budget_s: f64,
    /// The relative width at which an interval is narrow enough.
    pub precision_share: f64,
    pub evidence: EvidenceChoice,
    /// The order in which the cells had their turns, round by round; cells are numbered lock by lock, then by threads,
    /// then by competitors.
    pub order: Vec<Vec<usize>>,
}

/// 1998 ran each test for about two seconds.
const DEFAULT_CELL: Duration = Duration::from_secs(2);

impl Plan {
    /// Checks the flags against the machine and fills in the rest.
    ///
    /// # Errors
    /// A CPU in the placement that does not exist or is not allowed.
    pub fn of(flags: &Flags, session: &Session) -> Result<Self, UsageError> {
        let mut cells = Vec::new();
        for lock in locks::chosen(&flags.lock, false).into_iter().map(|entry| entry.name) {
            for &threads in &flags.threads {
                for &competitors in &flags.competitors {
                    let cell =
                        CellPlan { lock: lock.to_owned(), threads: threads.into(), competitors: competitors.into() };
                    if !cells.contains(&cell) {
                        cells.push(cell);
                    }
                }
            }
        }
        Ok(Self {
            hold_ns: flags.hold.as_nanos() as f64,
            placement: flags.placement.clone(),
            cpus: dealt_cpus(&flags.placement, &session.cpus)?,
            budget: session.seconds.unwrap_or(DEFAULT_CELL * cells.len() as u32),
            precision: flags.precision,
            evidence: flags.evidence,
            cells,
        })
    }

    /// The CPUs that are used.
    pub fn cpu_set(&self) -> CpuSet {
        self.cpus.iter().copied().collect()
    }

    /// What the record says of the plan.
    pub fn parameters(&self, order: Vec<Vec<usize>>) -> Parameters {
        Parameters {
            locks: distinct(self.cells.iter().map(|cell| cell.lock.clone())),
            threads: distinct(self.cells.iter().map(|cell| cell.threads)),
            competitors: distinct(self.cells.iter().map(|cell| cell.competitors)),
            hold_us: self.hold_ns / 1e3,
            placement: self.placement.to_string(),
            cpus: self.cpus.clone(),
            budget_s: self.budget.as_secs_f64(),
            precision_share: self.precision,
            evidence: self.evidence,
            order,
        }
    }
}

fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    items.fold(Vec::new(), |mut seen, item| {
        if !seen.contains(&item) {
            seen.push(item);
        }
        seen
    })
}

fn dealt_cpus(placement: &Placement, session: &CpuSet) -> Result<Vec<usize>, UsageError> {
    Ok(match placement {
        Placement::OneCpu => session.iter().take(1).collect(),
        Placement::Spread => session.iter().collect(),
        Placement::List(list) => instruments::cpus::resolve(list, session)
            .map_err(|error| UsageError(format!("--placement: {error}")))?
            .iter()
            .collect(),
    })
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
