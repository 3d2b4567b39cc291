//! The options, and the values that they take.

use super::cells::{self, Nice, Scenario};
use super::timer::{Policy, Timer};
use clap::{Args, ValueEnum};
use harness::{EvidenceChoice, Format, SharedFlags, UsageError, parse_count, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// Measure OS noise: what interrupts a running thread, how often, and how long
///
/// A sampling thread only reads the clock; where two adjacent readings are too far apart, the thread did not run (a
/// gap). Kernel events name the cause of a gap: the thread or the interrupt that ran instead. With --scenario, the
/// sampling thread also has a competing thread on its CPU, or a rescheduler (a real-time thread that only sleeps and
/// wakes up), as in the test of 1999. With --cpus and one CPU, the sampling thread runs on that CPU.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Load next to the sampling thread; each name of a list is a configuration [default: quiet, and the loads whose options
    /// are given]
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', conflicts_with = "remedies")]
    pub scenario: Vec<Scenario>,

    /// Run the same load under every remedy that the machine allows, instead of the scenarios
    #[arg(long)]
    pub remedies: bool,

    /// Scheduler weight of the sampling thread, as a multiple of a competing thread's [default: 1024, which corresponds to
    /// the priorities 20 and 10 of 1999; with --remedies 68, so that a competing thread has a time slice in every
    /// repetition] [range: 1 to 5917]
    #[arg(long, value_name = "RATIO", value_parser = weight_ratio, allow_hyphen_values = true)]
    pub weight_ratio: Option<f64>,

    /// Nice values of the sampling thread and of the competing threads, such as -12,19 [range: -20 to 19]
    #[arg(long, value_name = "SAMPLER,COMPETITOR", conflicts_with = "weight_ratio", allow_hyphen_values = true)]
    pub nice: Option<Nice>,

    /// Number of competing threads, which spin on the CPU of the sampling thread [default: 1] [range: 1 to 64]
    #[arg(long, value_name = "N", value_parser = parse_count::within::<u16>(1..=64), allow_hyphen_values = true)]
    pub competitors: Option<u16>,

    /// Time that the rescheduler sleeps between wake-ups [default: 125us] [range: 50us to 1s]
    #[arg(long, value_name = "TIME", value_parser = rescheduler, allow_hyphen_values = true, conflicts_with = "remedies")]
    pub rescheduler: Option<Duration>,

    /// Number of clock readings in one repetition of a configuration, such as 256M, as in 1999 [default: the number that
    /// --seconds allows] [range: 10K to 1000G]
    #[arg(long, value_name = "N", value_parser = samples, allow_hyphen_values = true)]
    pub samples: Option<u64>,

    /// Measure wake-up latency instead: a thread sleeps until an instant, then until the next one, a period later;
    /// several periods are interleaved, each with its unit, as in 1000us [range: 50us to 1s]
    #[arg(
        long,
        value_name = "PERIODS",
        value_delimiter = ',',
        value_parser = wake,
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

    /// Print the number of gaps, or wake-ups, of each length in whole microseconds, as cyclictest and oslat do
    #[arg(long, conflicts_with = "remedies")]
    pub histogram: bool,

    /// Kernel events, used to name the causes of gaps
    #[arg(long, value_enum, value_name = "SOURCE", default_value = "best")]
    pub evidence: EvidenceChoice,

    /// Print one line per period while measuring; needs a unit, as in 1s [range: from 10ms]
    #[arg(long, value_name = "TIME", value_parser = interval, allow_hyphen_values = true)]
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
    /// Returns the file for the gaps, if any.
    pub fn trace(&self) -> Option<&std::path::Path> {
        self.trace.as_deref()
    }

    /// Returns the output while measuring, if any.
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

pub fn weight_ratio(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if (1.0..=cells::highest_ratio()).contains(&ratio) => Ok(ratio),
        _ => Err(format!("must be a number from 1 to {:.0}, such as 1024", cells::highest_ratio().floor())),
    }
}

/// The interval below which the wake-ups of a rescheduler can take the whole CPU.
const SHORTEST_RESCHEDULER: Duration = Duration::from_micros(50);

pub fn rescheduler(text: &str) -> Result<Duration, String> {
    match parse_duration::span(text)? {
        period if period < SHORTEST_RESCHEDULER => {
            Err("must be at least 50us: below that its wake-ups can take the whole CPU".into())
        }
        period if period > Duration::from_secs(1) => Err("must be at most 1s".into()),
        period => Ok(period),
    }
}

/// Parses an interval of wake-ups, below the minimum of which they can take the whole CPU.
pub fn wake(text: &str) -> Result<Duration, String> {
    rescheduler(text)
}

/// Parses the interval of lines; a number alone may be cyclictest's interval, which is the period of wake-ups.
pub fn interval(text: &str) -> Result<Duration, String> {
    if parse_duration::lacks_unit(text) {
        return Err(format!(
            "the unit is missing; write {text}s for a line each {text} seconds, or --wake {text}us for wake-ups with \
             a period of {text} µs"
        ));
    }
    match parse_duration::budget(text)? {
        interval if interval < Duration::from_millis(10) => Err("must be at least 10ms".into()),
        interval => Ok(interval),
    }
}

/// Parses a number with or without K, M or G for thousands, millions and billions.
pub fn samples(text: &str) -> Result<u64, String> {
    match parse_count::count(text)? {
        samples if (10_000..=1_000_000_000_000).contains(&samples) => Ok(samples),
        _ => Err("must be from 10K to 1000G".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_parsed_with_prefixes() {
        assert_eq!(samples("256M"), Ok(256_000_000));
        assert_eq!(samples("0.5g"), Ok(500_000_000));
        assert_eq!(samples("100000"), Ok(100_000));
        for wrong in ["", "M", "-1M", "1", "2000G", "many"] {
            assert!(samples(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ratios_are_those_of_the_weights() {
        assert_eq!(weight_ratio("1024"), Ok(1024.0));
        assert!(weight_ratio("0.5").is_err() && weight_ratio("6000").is_err() && weight_ratio("nan").is_err());
    }

    #[test]
    fn interval_without_a_unit_is_refused_with_both_meanings() {
        assert_eq!((interval("1s"), interval("50ms")), (Ok(Duration::from_secs(1)), Ok(Duration::from_millis(50))));
        let message = interval("1000").unwrap_err();
        assert!(message.contains("write 1000s") && message.contains("--wake 1000us"), "{message}");
        assert!(wake("1000").unwrap_err().contains("1000us or 1000ms"));
    }

    #[test]
    fn a_rescheduler_that_would_take_the_cpu_is_refused() {
        assert_eq!(rescheduler("125us"), Ok(Duration::from_micros(125)));
        assert!(rescheduler("0").unwrap_err().contains("50us") && rescheduler("49us").is_err());
        assert!(rescheduler("2s").is_err());
    }
}
