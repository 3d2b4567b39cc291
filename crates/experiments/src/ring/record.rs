//! What came out: a row for each contestant in each ring, and for each limit.

use super::plan::Parameters;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::{EndedBy, Interval};
use loops::ring::{Arrangement, Class};
use record::{Basis, Estimates, RecordRef};
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type RingRecord<'a> = RecordRef<'a, Parameters, Row>;

/// One contestant, or limit, in one ring. A value that was not measured is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub contestant: String,
    /// What a hop goes through; `limit` for what the machine allows.
    pub class: Class,
    pub scheduler: String,
    pub threads: usize,
    /// The hops of the last run.
    pub hops: u64,
    /// The number of the thread that got the last token, in the last run.
    pub answer: Option<usize>,
    /// Whether it was hops mod threads + 1 in every run.
    pub correct: bool,
    /// What went wrong, if anything did.
    pub failure: Option<Failure>,
    /// Whether it is one of the large rings, and its arrangement in memory.
    pub large: bool,
    pub arrangement: Option<Arrangement>,
    /// On one CPU; a limit with `across` in its name has a CPU for each of its two threads.
    pub pinned: bool,
    /// The median of the turns.
    pub ns_per_hop: Option<f64>,
    pub ns_per_hop_ci: Option<Interval>,
    /// The share of the repetitions' parts in which an SMT sibling used the core; `null` without probes.
    #[serde(default)]
    pub core_shared_share: Option<f64>,
    /// How far a part's time tells by itself who was there: rank correlation, from -1 to 1.
    #[serde(default)]
    pub core_correlation: Option<f64>,
    /// The median of the parts of turns that had the core for themselves, and of those that had not.
    #[serde(default)]
    pub ns_per_hop_alone: Option<f64>,
    #[serde(default)]
    pub ns_per_hop_alone_ci: Option<Interval>,
    /// The former in cycles of the core, whose frequency is not always the same.
    #[serde(default)]
    pub cycles_per_hop_alone: Option<f64>,
    #[serde(default)]
    pub cycles_per_hop_alone_ci: Option<Interval>,
    /// That frequency: the median of the turns, and the least and the most of them.
    #[serde(default)]
    pub core_ghz_alone: Option<f64>,
    #[serde(default)]
    pub core_ghz_alone_span: Option<Interval>,
    #[serde(default)]
    pub ns_per_hop_shared: Option<f64>,
    #[serde(default)]
    pub ns_per_hop_shared_ci: Option<Interval>,
    /// Turns that count.
    pub repeats: usize,
    /// What all its turns took, starts and ends included.
    pub spent_s: f64,
    /// `null` where no time was measured.
    pub ended_by: Option<EndedBy>,
    /// Making the threads, and for a program starting it and ending it: the time of no hops.
    pub start_ms: Option<f64>,
    /// The limit that it is compared with, its time in this run, and how many times as long a hop takes.
    pub limit: Option<String>,
    pub limit_ns: Option<f64>,
    pub times_limit: Option<f64>,
    /// The most memory that was resident, with everything that the program is.
    pub rss_kib: Option<f64>,
    /// What a thread adds to it, from two sizes of the ring.
    pub bytes_per_thread: Option<f64>,
    /// What a thread takes in the kernel, of which the resident memory tells nothing: stack, slab and page tables.
    pub kernel_bytes_per_thread: Option<f64>,
    pub kernel_stack_bytes_per_thread: Option<f64>,
    pub slab_bytes_per_thread: Option<f64>,
    pub page_table_bytes_per_thread: Option<f64>,
    /// Spurious polls of threads that could not run, for schedulers that count them.
    pub wasted_polls_per_hop: Option<f64>,
    /// Switches of the kernel in all turns, starting and ending included, by its hops.
    pub voluntary_switches_per_hop: Option<f64>,
    pub involuntary_switches_per_hop: Option<f64>,
    /// Time that the hypervisor took from the CPUs during its turns.
    pub steal_share: Option<f64>,
    /// The lines of 2008's table that it is compared with.
    pub then: Vec<Line>,
}

impl Row {
    /// The time of a hop.
    pub fn hops(&self) -> Estimates {
        Estimates::new(
            (self.ns_per_hop, self.ns_per_hop_ci),
            (self.ns_per_hop_alone, self.ns_per_hop_alone_ci),
            (self.ns_per_hop_shared, self.ns_per_hop_shared_ci),
        )
    }

    /// The time of a hop by itself: with the core exclusive, where that is known; else of all turns.
    pub fn hop(&self) -> Option<Estimate> {
        self.hops().single()
    }

    /// How many times as long a hop takes as one of `base`, on the same basis.
    pub fn times(&self, base: &Self) -> Option<f64> {
        let hops = [self.hops(), base.hops()];
        let basis = Basis::common(hops);
        Some(hops[0].on(basis)?.value / hops[1].on(basis)?.value)
    }

    /// The contestant, and the arrangement of a large ring.
    pub fn variant(&self) -> String {
        let laid = self.arrangement.filter(|_| self.large).map(|arrangement| format!(", {}", arrangement.label()));
        format!("{}{}", self.contestant, laid.unwrap_or_default())
    }

    /// The name of the configuration.
    pub fn name(&self) -> String {
        format!("{}, {} threads", self.variant(), self.threads)
    }

    /// The hop in cycles of the core, for the time in which it was exclusive: another frequency does not change it.
    pub fn cycles(&self) -> Option<Estimate> {
        self.cycles_per_hop_alone.map(|cycles| Estimate::new(cycles, self.cycles_per_hop_alone_ci))
    }
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    pub fault: Fault,
    pub message: String,
}

/// In which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    NotBuilt,
    Crashed,
    Hung,
    Garbage,
    WrongThread,
}

impl Fault {
    /// In words.
    pub fn label(self) -> &'static str {
        match self {
            Self::NotBuilt => "does not build",
            Self::Crashed => "crashed",
            Self::Hung => "hung",
            Self::Garbage => "printed garbage",
            Self::WrongThread => "ended at the wrong thread",
        }
    }
}

/// What went wrong, a line each.
pub fn failures(rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        if let Some(failure) = &row.failure {
            let line = format!("{} {}: {}", row.contestant, failure.fault.label(), failure.message);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line {
    pub implementation: String,
    pub memory_kib: u64,
    pub time_s: f64,
    /// The contestant of today that is most like it.
    pub today: Option<String>,
}
