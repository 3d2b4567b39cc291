//! The flags of the experiment.

use clap::Args;
use harness::{parse_count, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// Compute the slowdown of bulk-synchronous jobs on many nodes by noise
///
/// In such a job, every step waits for the slowest node. Each node replays the noise of a recorded trace, starting at its own random point. The exact results hold for steps that begin at random moments; a simulated dissemination barrier
/// runs the steps one after another. The control interrupts all nodes at the same time.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Trace of a machine, one gap per line as `start_ns duration_ns`; `contend noise --trace FILE` records it
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Record of a job, which has one trace per rank; `mpirun … lockstep --output RECORD` writes it
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["trace", "span", "processes", "overhead", "latency", "steps"])]
    pub ranks: Option<PathBuf>,

    /// Length of the recording [default: the line `# span_ns N` of the trace, otherwise the end of its last gap]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub span: Option<Duration>,

    /// Computing time of each node per step; each value of a list is a table
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "1ms", value_parser = parse_duration::span,
          allow_hyphen_values = true)]
    pub step: Vec<Duration>,

    /// Number of nodes, for the exact results; can be a list [default: 1, 2, 5, 10 … 10,000,000, as far as the trace
    /// supports them] [range: 1 to 10000000]
    #[arg(long, value_name = "N,…", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = parse_count::within::<u64>(1..=MOST_NODES))]
    pub nodes: Vec<u64>,

    /// Number of processes in the simulated barrier; can be a list [default: 1, 4, 16 … 65,536, as far as the trace
    /// supports them] [range: 1 to 1048576]
    #[arg(long, value_name = "N,…", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = parse_count::within::<u64>(1..=MOST_PROCESSES))]
    pub processes: Vec<u64>,

    /// CPU time of a process per message of the barrier; 0 leaves messages to the network
    #[arg(long, value_name = "TIME", default_value = "500ns", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub overhead: Duration,

    /// Transit time of a message
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub latency: Duration,

    /// Number of simulated steps in each of 10 runs [default: 20 to 5,000, fewer for more processes] [range: 1 to
    /// 1000000]
    #[arg(long, value_name = "N", value_parser = parse_count::within::<u64>(1..=1_000_000), allow_hyphen_values = true)]
    pub steps: Option<u64>,

    /// Go beyond the nodes and quantiles that the length of the trace supports
    #[arg(long)]
    pub extrapolate: bool,
}

pub const MOST_NODES: u64 = 10_000_000;
const MOST_PROCESSES: u64 = 1 << 20;
/// The default number of steps of a run.
pub const MOST_STEPS: u64 = 5_000;
