//! What the user may set.

use clap::Args;
use harness::{parse_count, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// What this machine's noise does to many nodes in lock-step, where every step waits for the slowest
///
/// Each node has the noise of a recorded trace, from a random moment of its own. The exact figures hold for steps that
/// begin at random moments; a simulated dissemination barrier runs steps one after another. The control has all nodes
/// interrupted at once.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// The trace, a `start_ns duration_ns` a line: record it with `contend noise --trace FILE`
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// The record of a job, a trace of its own for each rank: `mpirun … lockstep --output RECORD` writes it
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["trace", "span", "processes", "overhead", "latency", "steps"])]
    pub ranks: Option<PathBuf>,

    /// How long the recording lasted [default: its line `# span_ns N`, else the end of its last gap]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub span: Option<Duration>,

    /// Work of a step on each node; several make several tables
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', default_value = "1ms", value_parser = parse_duration::span,
          allow_hyphen_values = true)]
    pub step: Vec<Duration>,

    /// Nodes, exactly [default: 1, 2, 5, 10 … 10,000,000, as far as the trace supports them]
    #[arg(long, value_name = "N,…", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = parse_count::within::<u64>(1..=MOST_NODES))]
    pub nodes: Vec<u64>,

    /// Processes in a simulated barrier [default: 1, 4, 16 … 65,536, as far as the trace supports them]
    #[arg(long, value_name = "N,…", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = parse_count::within::<u64>(1..=MOST_PROCESSES))]
    pub processes: Vec<u64>,

    /// CPU time that a process spends on each of the barrier's messages; 0 leaves it to the network
    #[arg(long, value_name = "TIME", default_value = "500ns", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub overhead: Duration,

    /// Time that a message is under way
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub latency: Duration,

    /// Simulated steps in each of 10 runs [default: 20 to 5,000, fewer for more processes]
    #[arg(long, value_name = "N", value_parser = parse_count::within::<u64>(1..=1_000_000), allow_hyphen_values = true)]
    pub steps: Option<u64>,

    /// Go beyond the nodes and quantiles that the trace is long enough to tell
    #[arg(long)]
    pub extrapolate: bool,
}

pub const MOST_NODES: u64 = 10_000_000;
const MOST_PROCESSES: u64 = 1 << 20;
/// Steps of a run, if the user does not say.
pub const MOST_STEPS: u64 = 5_000;
