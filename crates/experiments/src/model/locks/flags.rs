//! The flags of the experiment.

use clap::Args;
use harness::{parse_count, parse_duration};
use manycore::NAMES;
use std::path::PathBuf;
use std::time::Duration;

/// Model locks on many cores
///
/// A discrete-event model runs the loop of `contend throughput` on up to 256 cores, from the costs of a cache line, a
/// wake-up and a switch. Nothing is measured. With --against, it runs the configurations of a record of `contend
/// throughput` instead, and states how far it is off.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Locks to model, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(NAMES))]
    pub lock: Vec<String>,

    /// Number of cores; each number of a list is a machine [default: 1,2,4,8,16,32,64] [range: 1 to 256]
    #[arg(long, value_name = "N,…", value_delimiter = ',', allow_hyphen_values = true, conflicts_with = "against",
          value_parser = parse_count::within::<usize>(1..=256))]
    pub cores: Vec<usize>,

    /// Number of NUMA nodes, among which the cores are divided; a machine with fewer cores has one node per core
    /// [range: 1 to 64]
    #[arg(long, value_name = "N", default_value_t = 1, allow_hyphen_values = true,
          value_parser = parse_count::within::<usize>(1..=64))]
    pub nodes: usize,

    /// Number of threads per core; each number of a list is a configuration [range: 1 to 64]
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1", allow_hyphen_values = true,
          conflicts_with = "against", value_parser = parse_count::within::<usize>(1..=64))]
    pub per_core: Vec<usize>,

    /// Mean time without the lock
    #[arg(long, value_name = "TIME", default_value = "1us", allow_hyphen_values = true, value_parser = parse_duration::span,
          conflicts_with = "against")]
    pub nonhold: Duration,

    /// Mean hold time
    #[arg(long, value_name = "TIME", default_value = "200ns", allow_hyphen_values = true, value_parser = parse_duration::span,
          conflicts_with = "against")]
    pub hold: Duration,

    /// Number of cache lines of shared data that each critical section writes [range: 0 to 1000]
    #[arg(long, value_name = "LINES", default_value_t = 0, allow_hyphen_values = true, conflicts_with = "against",
          value_parser = parse_count::within::<usize>(0..=1_000))]
    pub touch: usize,

    /// Modelled time of each of 3 runs; fairness depends on it [range: 1ms to 10s]
    #[arg(long, value_name = "TIME", default_value = "10ms", allow_hyphen_values = true, value_parser = run)]
    pub run: Duration,

    /// Record of `contend ring` or of a survey, from which the costs are taken [default: unvalidated values of one machine]
    #[arg(long, value_name = "RECORD")]
    pub costs: Option<PathBuf>,

    /// Record of `contend throughput`, whose configurations of threads are modelled and compared
    #[arg(long, value_name = "RECORD")]
    pub against: Option<PathBuf>,

    /// Cost of an atomic read-modify-write on a line that the core has
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub atomic: Option<Duration>,

    /// Transfer of a cache line between cores of a NUMA node
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub line: Option<Duration>,

    /// Transfer of a cache line between NUMA nodes [default: three times --line, an assumption]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub remote_line: Option<Duration>,

    /// System call that does nothing
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub syscall: Option<Duration>,

    /// Time of the waking thread for a wake-up
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub wake: Option<Duration>,

    /// Time from a wake-up until the thread runs on an idle core
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub wake_latency: Option<Duration>,

    /// Time from a blocking call until the core is free
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub sleep: Option<Duration>,

    /// Switch between two threads of a core
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub switch: Option<Duration>,

    /// Time slice of the scheduler
    #[arg(long, value_name = "TIME", value_parser = parse_duration::span, allow_hyphen_values = true)]
    pub slice: Option<Duration>,
}

fn run(text: &str) -> Result<Duration, String> {
    let run = parse_duration::span(text)?;
    let allowed = Duration::from_millis(1)..=Duration::from_secs(10);
    if allowed.contains(&run) { Ok(run) } else { Err("must be from 1ms to 10s".into()) }
}
