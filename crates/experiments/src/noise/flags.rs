//! What the user may set, and the plan of cells that comes of it.

use super::cells::{self, CellPlan, Contest};
use super::scenario::{Nice, Scenario};
use clap::{Args, ValueEnum};
use harness::EvidenceChoice;
use harness::UsageError;
use harness::parse_duration;
use harness::{Format, Session, SharedFlags};
use instruments::cpus::{CpuSet, online};
use instruments::warning::{self, Warning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Who takes the CPU from a running thread, how often, for how long: with the causes named
///
/// A thread reads the clock and nothing else; where two neighbouring readings lie too far apart it did not run. It is
/// watched alone, with a competitor on its CPU, and with a rescheduler (a real-time thread that only sleeps and wakes)
/// beside both, as in the test of 1999. The kernel's own record says who ran instead.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// What to run beside the reader; several make several cells [default: all four; with --trace or --interval: quiet]
    #[arg(long, value_enum, value_name = "NAMES", value_delimiter = ',', conflicts_with = "remedies")]
    scenario: Vec<Scenario>,

    /// Run the same load under every remedy that the machine allows, instead of the scenarios
    #[arg(long)]
    remedies: bool,

    /// The reader's weight for the scheduler, as a multiple of a competitor's: 1 to 5917. 1024 is 1999's
    /// priorities 20 and 10
    #[arg(long, value_name = "RATIO", default_value_t = 1024.0, value_parser = weight_ratio, allow_hyphen_values = true)]
    weight_ratio: f64,

    /// Nice values of the reader and of the competitors, such as -12,19
    #[arg(long, value_name = "READER,COMPETITOR", conflicts_with = "weight_ratio", allow_hyphen_values = true)]
    nice: Option<Nice>,

    /// Spinning threads that want the reader's CPU
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    competitors: u16,

    /// How long the rescheduler sleeps each time: 50us to 1s
    #[arg(long, value_name = "TIME", default_value = "125us", value_parser = rescheduler, allow_hyphen_values = true)]
    rescheduler: Duration,

    /// Readings of the clock in one turn of a cell, such as 256M [default: 256M, as in 1999, or what --seconds allows]
    #[arg(long, value_name = "N", value_parser = samples, allow_hyphen_values = true)]
    samples: Option<u64>,

    /// The CPU that the reader runs on [default: the last of those allowed]
    #[arg(long, value_name = "CPU")]
    cpu: Option<usize>,

    /// The kernel's record of who ran: the best that may be read, or none
    #[arg(long, value_enum, value_name = "WHICH", default_value = "best")]
    evidence: EvidenceChoice,

    /// Print a line for each such time while measuring, from 10ms
    #[arg(long, value_name = "TIME", value_parser = interval, allow_hyphen_values = true)]
    interval: Option<Duration>,

    /// What the lines of --interval are: text, or JSON objects
    #[arg(long, value_enum, value_name = "VIEW", default_value = "lines", requires = "interval")]
    view: View,

    /// Write every gap of one scenario to this file, as lines of start and duration in ns; a name that ends in .hlog
    /// gets an HdrHistogram log with a histogram a second
    #[arg(long, value_name = "FILE", conflicts_with = "remedies")]
    trace: Option<PathBuf>,
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

fn weight_ratio(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if (1.0..=cells::highest_ratio()).contains(&ratio) => Ok(ratio),
        _ => Err(format!("it must be a number from 1 to {:.0}, such as 1024", cells::highest_ratio().floor())),
    }
}

/// Below this the wake-ups of a rescheduler can take the whole CPU.
const SHORTEST_RESCHEDULER: Duration = Duration::from_micros(50);

fn rescheduler(text: &str) -> Result<Duration, String> {
    match parse_duration::span(text)? {
        period if period < SHORTEST_RESCHEDULER => {
            Err("it must be at least 50us: below that its wake-ups can take the whole CPU".into())
        }
        period if period > Duration::from_secs(1) => Err("it must be at most 1s".into()),
        period => Ok(period),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    match parse_duration::budget(text)? {
        interval if interval < Duration::from_millis(10) => Err("it must be at least 10ms".into()),
        interval => Ok(interval),
    }
}

/// A number with or without K, M or G for thousands, millions and billions.
fn samples(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.strip_suffix(['K', 'k', 'M', 'm', 'G', 'g']) {
        Some(digits) => (
            digits,
            match text.as_bytes()[text.len() - 1].to_ascii_uppercase() {
                b'K' => 1e3,
                b'M' => 1e6,
                _ => 1e9,
            },
        ),
        None => (text, 1.0),
    };
    match digits.trim().parse::<f64>().map(|number| number * factor) {
        Ok(samples) if (1e4..=1e12).contains(&samples) => Ok(samples as u64),
        Ok(_) => Err("it must be from 10K to 1000G".into()),
        Err(_) => Err("not a number; write it like 256M".into()),
    }
}

/// Everything that the measurement needs to know.
#[derive(Clone, Debug)]
pub struct Plan {
    pub cells: Vec<CellPlan>,
    pub remedies: bool,
    /// Limits of one turn of a cell.
    pub samples: u64,
    pub turn: Duration,
    /// No turn begins that might not end within it; `None` without an end.
    pub budget: Option<Duration>,
    /// Every cell has so many turns at most.
    pub turns: u64,
    pub evidence: EvidenceChoice,
    /// Lines are wanted for each such piece of a turn.
    pub interval: Option<Duration>,
    /// Whether every gap is kept.
    pub keeps_gaps: bool,
    /// The CPUs in use.
    pub cpus: CpuSet,
    pub contest: Contest,
    pub rescheduler: Duration,
    /// What was asked for and is not measured, and what the machine does not allow.
    pub warnings: Vec<Warning>,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    pub remedies: bool,
    pub samples_a_turn: u64,
    pub turn_s: f64,
    pub budget_s: Option<f64>,
    pub cpu: usize,
    pub reader_nice: i32,
    pub competitor_nice: i32,
    /// The reader's weight by a competitor's.
    pub weight_ratio: f64,
    pub competitors: usize,
    pub rescheduler_us: f64,
    pub evidence: EvidenceChoice,
    pub interval_s: Option<f64>,
    /// The order in which the cells had their turns, round by round, by their numbers.
    pub order: Vec<Vec<usize>>,
}

const DEFAULT_BUDGET: Duration = Duration::from_secs(80);
const DEFAULT_REMEDIES_BUDGET: Duration = Duration::from_secs(120);
/// 1999's.
pub const SAMPLES_1999: u64 = 256_000_000;
/// Turns that a cell gets: fewer give no interval without assuming a distribution.
const TURNS: u64 = 6;
/// What a turn takes beside its readings: threads begin, the reader calibrates itself; the record's first opening and its closing
/// are shared by all.
const BESIDE_A_TURN: Duration = Duration::from_millis(250);
/// A year: as good as without an end.
const ENDLESS: Duration = Duration::from_secs(365 * 24 * 3600);

impl Plan {
    /// Checks the flags against the machine and fills in the rest.
    ///
    /// # Errors
    /// A CPU that may not be used, a trace of several scenarios, a rescheduler on a machine with one CPU.
    pub fn of(flags: &Flags, session: &Session) -> Result<Self, UsageError> {
        let cpu = chosen_cpu(flags, session)?;
        let wished = flags.nice.unwrap_or_else(|| cells::nice_for(flags.weight_ratio));
        let mut warnings = Vec::new();
        let contest = Contest::granted(cpu, wished, flags.competitors.into(), &mut warnings);
        let machine =
            cells::Machine { lone_cpu: online().map_or(true, |cpus| cpus.len() == 1), session: &session.cpus };
        let cells = match flags.remedies {
            true => cells::remedies(&contest, &machine, &mut warnings),
            false => cells::scenarios(&chosen_scenarios(flags)?, flags.rescheduler, &contest, &machine, &mut warnings),
        };
        if cells.is_empty() {
            let reason = warnings.last().map(|warning| warning.message().to_owned()).unwrap_or_default();
            return Err(UsageError(format!("--scenario: {reason}; `quiet` and `competitor` can be measured")));
        }
        let cpus: CpuSet = cells.iter().map(|cell| cell.reader_cpu).chain([cpu]).collect();
        if cells.iter().any(|cell| cell.rescheduler.is_some() || cell.reader_rests()) {
            warnings.extend(warning::realtime_throttling(&session.environment));
        }
        let mut plan = Self {
            remedies: flags.remedies,
            samples: flags.samples.unwrap_or(SAMPLES_1999),
            turn: ENDLESS,
            budget: None,
            turns: u64::MAX,
            evidence: flags.evidence,
            interval: flags.interval,
            keeps_gaps: flags.trace.is_some(),
            cpus,
            contest,
            rescheduler: flags.rescheduler,
            warnings,
            cells,
        };
        plan.divide(flags, session);
        Ok(plan)
    }

    /// Divides the time between the cells.
    fn divide(&mut self, flags: &Flags, session: &Session) {
        let cells = self.cells.len() as u32;
        let live_alone = self.interval.is_some() && cells == 1;
        // A trace, or lines of one scenario, are of one stretch of time.
        let turns = if self.keeps_gaps || live_alone { 1 } else { TURNS };
        match (session.seconds, flags.samples) {
            // Live lines go on until someone ends them.
            (None, None) if live_alone => {
                self.samples = u64::MAX;
                self.turns = 1;
            }
            (None, Some(_)) => self.turns = turns,
            (given, samples) => {
                let default = if self.remedies { DEFAULT_REMEDIES_BUDGET } else { DEFAULT_BUDGET };
                let budget = given.unwrap_or(default);
                self.budget = Some(budget);
                self.turn = turn_within(budget / (cells * turns as u32), turns);
                if turns == 1 {
                    self.turns = 1;
                    self.samples = samples.unwrap_or(u64::MAX);
                }
            }
        }
    }

    /// How long it will take; `None` if that depends on the machine, or on the user.
    pub fn expected_time(&self) -> Option<Duration> {
        self.budget
    }

    /// What the record says of the plan.
    pub fn parameters(&self, order: Vec<Vec<usize>>) -> Parameters {
        Parameters {
            remedies: self.remedies,
            samples_a_turn: self.samples,
            turn_s: self.turn.as_secs_f64(),
            budget_s: self.budget.map(|budget| budget.as_secs_f64()),
            cpu: self.contest.cpu,
            reader_nice: self.contest.nice.reader,
            competitor_nice: self.contest.nice.competitor,
            weight_ratio: self.contest.weight_ratio(),
            competitors: self.contest.competitors,
            rescheduler_us: self.rescheduler.as_secs_f64() * 1e6,
            evidence: self.evidence,
            interval_s: self.interval.map(|interval| interval.as_secs_f64()),
            order,
        }
    }
}

/// The readings' part of a turn's time, so that all turns fit; a single turn takes all of it.
fn turn_within(time: Duration, turns: u64) -> Duration {
    if turns == 1 { time } else { time.saturating_sub(BESIDE_A_TURN).max(time / 2) }
}

fn chosen_cpu(flags: &Flags, session: &Session) -> Result<usize, UsageError> {
    match flags.cpu {
        Some(cpu) if session.cpus.contains(cpu) => Ok(cpu),
        Some(cpu) => Err(UsageError(format!("--cpu {cpu}: not among the CPUs that may be used, {}", session.cpus))),
        // Device interrupts favour the first.
        None => session.cpus.last().ok_or_else(|| UsageError("--cpus: no CPU is left".into())),
    }
}

fn chosen_scenarios(flags: &Flags) -> Result<Vec<Scenario>, UsageError> {
    let one = flags.trace.is_some() || flags.interval.is_some();
    match flags.scenario.as_slice() {
        [] if one => Ok(vec![Scenario::Quiet]),
        [] => Ok(Scenario::value_variants().to_vec()),
        [_, _, ..] if flags.trace.is_some() => {
            Err(UsageError("--trace: a trace holds one scenario; name one, such as --scenario quiet".into()))
        }
        named => Ok(Scenario::value_variants().iter().copied().filter(|scenario| named.contains(scenario)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_written_short() {
        assert_eq!(samples("256M"), Ok(256_000_000));
        assert_eq!(samples("0.5g"), Ok(500_000_000));
        assert_eq!(samples("100000"), Ok(100_000));
        for wrong in ["", "M", "-1M", "1", "2000G", "many"] {
            assert!(samples(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn turns_leave_room_for_what_comes_beside_them() {
        let ms = Duration::from_millis;
        assert_eq!(turn_within(ms(1_250), TURNS), ms(1_000));
        assert_eq!(turn_within(ms(200), TURNS), ms(100));
        assert_eq!(turn_within(ms(200), 1), ms(200));
    }

    #[test]
    fn nice_values_come_in_pairs() {
        assert_eq!("-12,19".parse(), Ok(Nice { reader: -12, competitor: 19 }));
        for wrong in ["5", "-21,0", "0,20", "a,b", ""] {
            assert!(wrong.parse::<Nice>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ratios_are_those_of_the_weights() {
        assert_eq!(weight_ratio("1024"), Ok(1024.0));
        assert!(weight_ratio("0.5").is_err() && weight_ratio("6000").is_err() && weight_ratio("nan").is_err());
    }

    #[test]
    fn a_rescheduler_that_would_take_the_cpu_is_refused() {
        assert_eq!(rescheduler("125us"), Ok(Duration::from_micros(125)));
        assert!(rescheduler("0").unwrap_err().contains("50us") && rescheduler("49us").is_err());
        assert!(rescheduler("2s").is_err());
    }
}
