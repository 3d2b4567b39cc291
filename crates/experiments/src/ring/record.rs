//! The results: a row for each contestant in each ring, and for each limit.

use super::plan::Parameters;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::{EndedBy, Interval};
use loops::ring::{Arrangement, Class};
use record::{Basis, Estimates, RecordRef};
use serde::{Deserialize, Serialize};

/// A record of this experiment.
pub type RingRecord<'a> = RecordRef<'a, Parameters, Row>;

/// One contestant, or limit, in one ring.
///
/// A value that was not measured is `null`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub contestant: String,
    /// The mechanism of a hop; `limit` for a limit of the machine.
    pub class: Class,
    pub scheduler: String,
    pub threads: usize,
    /// The hops of the last run.
    pub hops: u64,
    /// The number of the thread that got the last token, in the last run.
    pub answer: Option<usize>,
    /// Whether it was hops mod threads + 1 in every run.
    pub correct: bool,
    /// The failure, if any.
    pub failure: Option<Failure>,
    /// Whether it is one of the large rings, and its arrangement in memory.
    pub large: bool,
    pub arrangement: Option<Arrangement>,
    /// Whether it runs on one CPU; a limit with `across` in its name has a CPU for each of its two threads.
    pub pinned: bool,
    /// The median of the repetitions.
    pub ns_per_hop: Option<f64>,
    pub ns_per_hop_ci: Option<Interval>,
    /// The share of the repetitions' parts in which an SMT sibling used the core; `null` without probes.
    #[serde(default)]
    pub core_shared_share: Option<f64>,
    /// The rank correlation between a part's time and the sharing of the core, from -1 to 1.
    #[serde(default)]
    pub core_correlation: Option<f64>,
    /// The median of the parts of repetitions with the core exclusive, and of those with it shared.
    #[serde(default)]
    pub ns_per_hop_alone: Option<f64>,
    #[serde(default)]
    pub ns_per_hop_alone_ci: Option<Interval>,
    /// The former in cycles of the core, whose frequency varies.
    #[serde(default)]
    pub cycles_per_hop_alone: Option<f64>,
    #[serde(default)]
    pub cycles_per_hop_alone_ci: Option<Interval>,
    /// The frequency: the median of the repetitions, and the least and the greatest of them.
    #[serde(default)]
    pub core_ghz_alone: Option<f64>,
    #[serde(default)]
    pub core_ghz_alone_span: Option<Interval>,
    #[serde(default)]
    pub ns_per_hop_shared: Option<f64>,
    #[serde(default)]
    pub ns_per_hop_shared_ci: Option<Interval>,
    /// The number of repetitions that count.
    pub repeats: usize,
    /// The time of all its repetitions, starts and ends included.
    pub spent_s: f64,
    /// The reason for the end of the cell; `null` where no time was measured.
    pub ended_by: Option<EndedBy>,
    /// The time of making the threads, and for a program of starting and ending it: the time of no hops.
    pub start_ms: Option<f64>,
    /// The limit that it is compared with, its time in this run, and the ratio of a hop to it.
    pub limit: Option<String>,
    pub limit_ns: Option<f64>,
    pub times_limit: Option<f64>,
    /// The maximum resident memory of the whole program.
    pub rss_kib: Option<f64>,
    /// The resident memory of a thread, from two sizes of the ring.
    pub bytes_per_thread: Option<f64>,
    /// The memory of a thread in the kernel, which is not part of the resident memory: stack, slab and page tables.
    pub kernel_bytes_per_thread: Option<f64>,
    pub kernel_stack_bytes_per_thread: Option<f64>,
    pub slab_bytes_per_thread: Option<f64>,
    pub page_table_bytes_per_thread: Option<f64>,
    /// Spurious polls of threads that could not run, for schedulers that count them.
    pub wasted_polls_per_hop: Option<f64>,
    /// The context switches in all repetitions, starting and ending included, per hop.
    pub voluntary_switches_per_hop: Option<f64>,
    pub involuntary_switches_per_hop: Option<f64>,
    /// The time that the hypervisor took from the CPUs during its repetitions.
    pub steal_share: Option<f64>,
    /// The lines of 2008's table that it is compared with.
    pub then: Vec<Line>,
}

impl Row {
    /// Returns the time of a hop.
    pub fn hops(&self) -> Estimates {
        Estimates::new(
            (self.ns_per_hop, self.ns_per_hop_ci),
            (self.ns_per_hop_alone, self.ns_per_hop_alone_ci),
            (self.ns_per_hop_shared, self.ns_per_hop_shared_ci),
        )
    }

    /// Returns the time of a hop by itself: with the core exclusive, where that is known; otherwise of all repetitions. It is
    /// not compared with others ([`Hops`]).
    pub fn hop(&self) -> Option<Estimate> {
        self.hops().single()
    }

    /// Returns the contestant, and the arrangement of a large ring.
    pub fn variant(&self) -> String {
        let laid = self.arrangement.filter(|_| self.large).map(|arrangement| format!(", {}", arrangement.label()));
        format!("{}{}", self.contestant, laid.unwrap_or_default())
    }

    /// Returns the name of the configuration.
    pub fn name(&self) -> String {
        format!("{}, {} threads", self.variant(), self.threads)
    }

    /// Returns the hop in cycles of the core, for the time in which it was exclusive: another frequency does not change
    /// it.
    pub fn cycles(&self) -> Option<Estimate> {
        self.cycles_per_hop_alone.map(|cycles| Estimate::new(cycles, self.cycles_per_hop_alone_ci))
    }
}

/// The times of a hop of rows that are compared with each other: all with the core exclusive, or all of all repetitions.
#[derive(Clone, Copy)]
pub struct Hops {
    pub basis: Basis,
}

impl Hops {
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        Self { basis: Basis::common(rows.into_iter().map(Row::hops)) }
    }

    pub fn of_row(self, row: &Row) -> Option<Estimate> {
        row.hops().on(self.basis)
    }

    /// Returns the time in nanoseconds by which rows are sorted; those without one are last.
    pub fn order(self, row: &Row) -> f64 {
        self.of_row(row).map_or(f64::INFINITY, |hop| hop.value)
    }
}

/// A failure of a contestant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    pub fault: Fault,
    pub message: String,
}

/// The kind of failure.
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
    /// Returns the kind in words.
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

/// Describes the failures, a line each.
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
    /// The contestant of today that is most similar to it.
    pub today: Option<String>,
}

/// Rows by hand, for the tests of the views.
#[cfg(test)]
pub mod sample {
    use super::*;
    use loops::ring::Class;
    use serde_json::json;

    /// Returns a row of a ring of 503; the interval is a tenth to either side.
    pub fn row(contestant: &str, class: Class, ns_per_hop: f64) -> Row {
        serde_json::from_value(json!({
            "contestant": contestant, "class": class, "scheduler": "fifo", "threads": 503, "hops": 1_000,
            "answer": 498, "correct": true, "failure": null, "large": false, "arrangement": null, "pinned": true,
            "ns_per_hop": ns_per_hop, "ns_per_hop_ci": [ns_per_hop * 0.9, ns_per_hop * 1.1], "repeats": 14,
            "spent_s": 1.0, "ended_by": "converged", "start_ms": null, "limit": null, "limit_ns": null,
            "times_limit": null, "rss_kib": null, "bytes_per_thread": null, "kernel_bytes_per_thread": null,
            "kernel_stack_bytes_per_thread": null, "slab_bytes_per_thread": null, "page_table_bytes_per_thread": null,
            "wasted_polls_per_hop": null, "voluntary_switches_per_hop": null, "involuntary_switches_per_hop": null,
            "steal_share": null, "then": []
        }))
        .expect("the sample is as the experiment writes it")
    }
}
