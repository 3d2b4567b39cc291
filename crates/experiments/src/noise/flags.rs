//! What the user may set.

use super::scenario::{Nice, Scenario};
use super::values;
use super::wake::{Policy, Timer};
use clap::{Args, ValueEnum};
use harness::{EvidenceChoice, Format, SharedFlags, UsageError, parse_count, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// Who takes the CPU from a running thread, how often, for how long: with the causes named
///
/// A thread reads the clock and nothing else; where two neighbouring readings lie too far apart it did not run. It is
/// watched alone, with a competitor on its CPU, and with a rescheduler (a real-time thread that only sleeps and wakes)
/// beside both, as in the test of 1999. The kernel's own record says who ran instead.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// What to run beside the reader; several make several cells [default: all four; with --trace, --interval or
    /// --stop-above: quiet]
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', conflicts_with = "remedies")]
    pub scenario: Vec<Scenario>,

    /// Run the same load under every remedy that the machine allows, instead of the scenarios
    #[arg(long)]
    pub remedies: bool,

    /// The reader's weight for the scheduler, as a multiple of a competitor's: 1 to 5917 [default: 1024, which is
    /// 1999's priorities 20 and 10; with --remedies 68, so that a competitor has a time slice in every turn]
    #[arg(long, value_name = "RATIO", value_parser = values::weight_ratio, allow_hyphen_values = true)]
    pub weight_ratio: Option<f64>,

    /// Nice values of the reader and of the competitors, such as -12,19
    #[arg(long, value_name = "READER,COMPETITOR", conflicts_with = "weight_ratio", allow_hyphen_values = true)]
    pub nice: Option<Nice>,

    /// Spinning threads that want the reader's CPU [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_count::within::<u16>(1..=64), allow_hyphen_values = true)]
    pub competitors: Option<u16>,

    /// How long the rescheduler sleeps each time: 50us to 1s [default: 125us]
    #[arg(long, value_name = "TIME", value_parser = values::rescheduler, allow_hyphen_values = true, conflicts_with = "remedies")]
    pub rescheduler: Option<Duration>,

    /// Readings of the clock in one turn of a cell, such as 256M, as in 1999 [default: what --seconds allows]
    #[arg(long, value_name = "N", value_parser = values::samples, allow_hyphen_values = true)]
    pub samples: Option<u64>,

    /// Measure wake-ups instead: a thread sleeps until an instant, and again after each such time; 50us to 1s. Several
    /// take turns
    #[arg(
        long,
        value_name = "TIMES",
        value_delimiter = ',',
        value_parser = values::wake,
        allow_hyphen_values = true,
        conflicts_with_all = ["scenario", "remedies", "nice", "competitors", "rescheduler", "samples", "interval", "trace"]
    )]
    pub wake: Vec<Duration>,

    /// How the scheduler ranks the thread that wakes: other, fifo:N with N from 1 to 99, or deadline
    #[arg(long, value_name = "POLICY", default_value = "other", requires = "wake")]
    pub policy: Policy,

    /// What the thread sleeps in
    #[arg(long, value_enum, value_name = "CALL", default_value = "clock-nanosleep", requires = "wake")]
    pub timer: Timer,

    /// End at the first gap, or wake-up, that is longer, tell what ran meanwhile, and exit with status 3
    #[arg(long, value_name = "TIME", value_parser = parse_duration::stop_above, allow_hyphen_values = true)]
    pub stop_above: Option<Duration>,

    /// The CPU that the thread runs on [default: the last of those allowed]
    #[arg(long, value_name = "CPU", value_parser = parse_count::within::<usize>(0..=1_000_000), allow_hyphen_values = true)]
    pub cpu: Option<usize>,

    /// The kernel's record of who ran: the best that may be read, or none
    #[arg(long, value_enum, value_name = "WHICH", default_value = "best")]
    pub evidence: EvidenceChoice,

    /// Print a line for each such time while measuring, from 10ms
    #[arg(long, value_name = "TIME", value_parser = values::interval, allow_hyphen_values = true)]
    pub interval: Option<Duration>,

    /// What the lines of --interval are: text, or JSON objects
    #[arg(long, value_enum, value_name = "VIEW", default_value = "lines", requires = "interval")]
    pub view: View,

    /// Write every gap of one scenario to this file, as lines of start and duration in ns; a name that ends in .hlog
    /// gets an HdrHistogram log with a histogram a second
    #[arg(long, value_name = "FILE", conflicts_with = "remedies")]
    pub trace: Option<PathBuf>,
}

impl Flags {
    /// Where the gaps are written, if they are.
    pub fn trace(&self) -> Option<&std::path::Path> {
        self.trace.as_deref()
    }

    /// What is printed while measuring, if anything.
    ///
    /// # Errors
    /// Lines and a record want the same stdout.
    pub fn live_view(&self, shared: &SharedFlags) -> Result<Option<View>, UsageError> {
        if self.interval.is_some() && shared.format != Format::Text && !shared.writes_a_file() {
            return Err(UsageError(
                "--interval: stdout cannot have lines and the record of --format; for JSON lines use --view json \
                 without --format, or write the record elsewhere with --output FILE"
                    .into(),
            ));
        }
        Ok(self.interval.map(|_| self.view))
    }
}

/// What is printed while measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// A line of figures
    Lines,
    /// A JSON object
    Json,
}
