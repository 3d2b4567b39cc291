//! What the user may set.

use super::policy::Policy;
use super::scenario::{Nice, Scenario};
use super::timer::Timer;
use super::values;
use clap::{Args, ValueEnum};
use harness::{EvidenceChoice, Format, SharedFlags, UsageError, parse_count, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// Measure OS noise: what interrupts a running thread, how often, and how long
///
/// A sampling thread only reads the clock; where two adjacent readings are too far apart, the thread did not run (a
/// gap). It is measured alone, with a competing thread on its CPU, and with a rescheduler (a real-time thread that only
/// sleeps and wakes up) in addition, as in the test of 1999. Kernel events name the cause of a gap: the thread or the
/// interrupt that ran instead.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Load next to the sampling thread; each name of a list is a configuration [default: all four; with --trace,
    /// --interval or --stop-above: quiet]
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', conflicts_with = "remedies")]
    pub scenario: Vec<Scenario>,

    /// Run the same load under every remedy that the machine allows, instead of the scenarios
    #[arg(long)]
    pub remedies: bool,

    /// Scheduler weight of the sampling thread, as a multiple of a competing thread's [default: 1024, which corresponds to
    /// the priorities 20 and 10 of 1999; with --remedies 68, so that a competing thread has a time slice in every
    /// repetition] [range: 1 to 5917]
    #[arg(long, value_name = "RATIO", value_parser = values::weight_ratio, allow_hyphen_values = true)]
    pub weight_ratio: Option<f64>,

    /// Nice values of the sampling thread and of the competing threads, such as -12,19 [range: -20 to 19]
    #[arg(long, value_name = "SAMPLER,COMPETITOR", conflicts_with = "weight_ratio", allow_hyphen_values = true)]
    pub nice: Option<Nice>,

    /// Number of competing threads, which spin on the CPU of the sampling thread [default: 1] [range: 1 to 64]
    #[arg(long, value_name = "N", value_parser = parse_count::within::<u16>(1..=64), allow_hyphen_values = true)]
    pub competitors: Option<u16>,

    /// Time that the rescheduler sleeps between wake-ups [default: 125us] [range: 50us to 1s]
    #[arg(long, value_name = "TIME", value_parser = values::rescheduler, allow_hyphen_values = true, conflicts_with = "remedies")]
    pub rescheduler: Option<Duration>,

    /// Number of clock readings in one repetition of a configuration, such as 256M, as in 1999 [default: the number that
    /// --seconds allows] [range: 10K to 1000G]
    #[arg(long, value_name = "N", value_parser = values::samples, allow_hyphen_values = true)]
    pub samples: Option<u64>,

    /// Measure wake-up latency instead: a thread sleeps until an instant, then until the next one, a period later;
    /// several periods are interleaved [range: 50us to 1s]
    #[arg(
        long,
        value_name = "PERIODS",
        value_delimiter = ',',
        value_parser = values::wake,
        allow_hyphen_values = true,
        conflicts_with_all = ["scenario", "remedies", "nice", "competitors", "rescheduler", "samples", "interval", "trace"]
    )]
    pub wake: Vec<Duration>,

    /// Scheduling policy of the thread that wakes up: other, fifo:N with N from 1 to 99, or deadline
    #[arg(long, value_name = "POLICY", default_value = "other", requires = "wake")]
    pub policy: Policy,

    /// Call in which the thread sleeps
    #[arg(long, value_enum, value_name = "CALL", default_value = "clock-nanosleep", requires = "wake")]
    pub timer: Timer,

    /// Stop at the first gap, or wake-up latency, above this, report the threads that ran during it, and exit with
    /// status 3 [range: from 1us]
    #[arg(long, value_name = "TIME", value_parser = parse_duration::stop_above, allow_hyphen_values = true)]
    pub stop_above: Option<Duration>,

    /// CPU of the sampling thread [default: the last of the allowed CPUs]
    #[arg(long, value_name = "CPU", value_parser = parse_count::within::<usize>(0..=1_000_000), allow_hyphen_values = true)]
    pub cpu: Option<usize>,

    /// Kernel events, used to name the causes of gaps
    #[arg(long, value_enum, value_name = "SOURCE", default_value = "best")]
    pub evidence: EvidenceChoice,

    /// Print one line per period while measuring [range: from 10ms]
    #[arg(long, value_name = "TIME", value_parser = values::interval, allow_hyphen_values = true)]
    pub interval: Option<Duration>,

    /// Form of the lines of --interval
    #[arg(long, value_enum, value_name = "VIEW", default_value = "lines", requires = "interval")]
    pub view: View,

    /// Write every gap of one scenario to FILE, one line per gap: start and duration in ns. If the name ends in .hlog,
    /// write an HdrHistogram log with one histogram per second
    #[arg(long, value_name = "FILE", conflicts_with = "remedies")]
    pub trace: Option<PathBuf>,
}

impl Flags {
    /// Where the gaps are written, if they are.
    pub fn trace(&self) -> Option<&std::path::Path> {
        self.trace.as_deref()
    }

    /// The output while measuring, if any.
    ///
    /// # Errors
    /// Lines and a record want the same stdout.
    pub fn live_view(&self, shared: &SharedFlags) -> Result<Option<View>, UsageError> {
        if self.interval.is_some() && shared.format != Format::Text && !shared.writes_a_file() {
            return Err(UsageError(
                "--interval: standard output cannot have both the lines and the record of --format; for JSON lines \
                 use --view json without --format, or write the record to a file with --output FILE"
                    .into(),
            ));
        }
        Ok(self.interval.map(|_| self.view))
    }
}

/// The form of the lines that are printed while measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// values as text
    Lines,
    /// one JSON object per line
    Json,
}
