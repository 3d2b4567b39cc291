//! The plan made from the flags, and its description in a record.

use super::cells::Scenario;
use super::cells::{self, CellPlan, Contest};
use super::flags::Flags;
use super::timer::Timer;
use clap::ValueEnum;
use harness::{EvidenceChoice, Session, UsageError};
use instruments::cpus::{CpuSet, online};
use instruments::warning::{self, Warning};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The input of the measurement.
#[derive(Clone, Debug)]
pub struct Plan {
    pub cells: Vec<CellPlan>,
    pub remedies: bool,
    /// The limits of one repetition of a cell.
    pub samples: u64,
    pub turn: Duration,
    /// The budget: no repetition begins that might not end within it; `None` without an end.
    pub budget: Option<Duration>,
    /// The maximum number of repetitions of a cell.
    pub turns: u64,
    pub evidence: EvidenceChoice,
    /// The length of a piece of a repetition that has a line.
    pub interval: Option<Duration>,
    /// Whether every gap is kept.
    pub keeps_gaps: bool,
    /// Whether gaps are counted by their length in microseconds.
    pub counts_by_us: bool,
    /// The CPUs in use.
    pub cpus: CpuSet,
    /// Whether each of them has a sampling thread.
    pub is_of_every_cpu: bool,
    pub contest: Contest,
    pub rescheduler: Duration,
    /// The limit; the first gap that is longer ends the measurement.
    pub stop_above: Option<Duration>,
    /// Requested configurations that are not measured, and those that the machine does not allow.
    pub warnings: Vec<Warning>,
}

/// The parameters of a record, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    pub remedies: bool,
    pub samples_a_turn: u64,
    pub turn_s: f64,
    pub budget_s: Option<f64>,
    pub cpu: usize,
    pub reader_nice: i32,
    pub competitor_nice: i32,
    /// The ratio of the sampling thread's weight to a competitor's.
    pub weight_ratio: f64,
    pub competitors: usize,
    pub rescheduler_us: f64,
    pub evidence: EvidenceChoice,
    pub interval_s: Option<f64>,
    /// The CPUs that were sampled at once, if they were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub every_cpu: Vec<usize>,
    /// The parameters of `--wake`, if wake-ups were measured: then those of the sampling thread have no meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake: Option<WakeParameters>,
    /// The limit of gaps or wake-ups that would have ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_above_us: Option<f64>,
    /// The order of the repetitions of the cells, round by round, by their numbers.
    pub order: Vec<Vec<usize>>,
}

impl Parameters {
    /// Returns the words of a command that measures further, with the options of this run that also apply there.
    ///
    /// Defaults are omitted.
    pub fn further(&self, words: &[&str], has_histogram: bool) -> Vec<String> {
        let evidence = (self.evidence == EvidenceChoice::None).then_some(["--evidence", "none"]);
        let histogram = has_histogram.then_some("--histogram");
        words.iter().copied().chain(evidence.into_iter().flatten()).chain(histogram).map(str::to_owned).collect()
    }
}

/// The parameters of `--wake`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeParameters {
    pub intervals_us: Vec<f64>,
    pub policy: String,
    pub timer: Timer,
    pub cpus: Vec<usize>,
}

/// The default budget of a scenario: six repetitions that are long enough for a competitor of 1999's weight to have its
/// time slice.
const DEFAULT_BUDGET: Duration = Duration::from_secs(25);
const EVERY_CPU_BUDGET: Duration = Duration::from_secs(30);
const DEFAULT_REMEDIES_BUDGET: Duration = Duration::from_secs(120);
/// The time of 1999's test: 256 million readings, at the 280 ns of a clock read in the article of 1998. The one of 1999
/// gives no time; a reading takes a thirtieth of that now, and so did the same number of readings.
pub const SPAN_1999_S: f64 = 256e6 * 280e-9;
/// The ratio of its priorities 20 and 10: a factor of two for each unit.
pub const RATIO_1999: f64 = 1024.0;
/// The highest ratio that needs no privilege; a competitor has a time slice in less than 0.3 s.
pub const REMEDIES_RATIO: f64 = 68.0;
const RESCHEDULER: Duration = Duration::from_micros(125);
/// The number of repetitions of a cell: fewer give no interval without assuming a distribution.
const TURNS: u64 = 6;
/// The number of repetitions of a cell in a given time: the median's interval then excludes the best repetition and the
/// worst.
const TURNS_WITHIN: u32 = 9;
/// The overhead of a repetition: threads begin, and the sampling thread calibrates itself; opening and closing the
/// kernel trace is shared by all.
const BESIDE_A_TURN: Duration = Duration::from_millis(100);
/// The shortest repetition that is meaningful on a machine with a tick.
const SHORTEST_TURN: Duration = Duration::from_millis(10);
const LONGEST_TRACE: Duration = Duration::from_secs(3600);
const A_MINUTE: Duration = Duration::from_secs(60);
/// A year: equivalent to no end.
const ENDLESS: Duration = Duration::from_secs(365 * 24 * 3600);

impl Plan {
    /// Checks the flags against the machine and fills in the defaults.
    ///
    /// # Errors
    /// A CPU may not be used, a trace is of several scenarios or of a night, or a rescheduler is requested on a machine
    /// with one CPU.
    pub fn of(flags: &Flags, session: &Session) -> Result<Self, UsageError> {
        if flags.trace.is_some() && session.seconds.is_some_and(|seconds| seconds > LONGEST_TRACE) {
            return Err(UsageError(
                "--trace: a trace contains every gap, and memory has room for one hour; set --seconds to 1h or less"
                    .into(),
            ));
        }
        let cpu = chosen_cpu(session)?;
        let scenarios = if flags.remedies { Vec::new() } else { chosen_scenarios(flags)? };
        let competes = |scenario: &Scenario| matches!(scenario, Scenario::Competitor | Scenario::Both);
        let usual = match (flags.remedies, scenarios.iter().any(competes)) {
            (true, _) => REMEDIES_RATIO,
            (false, true) => RATIO_1999,
            // Without a competitor, the sampling thread is an ordinary one: a higher priority would hide other tasks.
            (false, false) => 1.0,
        };
        let wished = flags.nice.unwrap_or_else(|| cells::nice_for(flags.weight_ratio.unwrap_or(usual)));
        let rescheduler = flags.rescheduler.unwrap_or(RESCHEDULER);
        let mut warnings = Vec::new();
        let contest = Contest::granted(cpu, wished, flags.competitors.unwrap_or(1).into(), &mut warnings);
        let machine =
            cells::Machine { lone_cpu: online().map_or(true, |cpus| cpus.len() == 1), session: &session.cpus };
        let cells = match flags.remedies {
            true => cells::remedies(&contest, &machine, &mut warnings),
            false => cells::scenarios(&scenarios, rescheduler, &contest, &machine, &mut warnings),
        };
        if cells.is_empty() {
            let reason = warnings.last().map(|warning| warning.message().to_owned()).unwrap_or_default();
            return Err(UsageError(format!("--scenario: {reason}; allowed here: `quiet` and `competitor`")));
        }
        check_use(flags, &cells)?;
        let cpus: CpuSet = cells.iter().map(|cell| cell.reader_cpu).chain([cpu]).collect();
        let realtime_share = cells.iter().map(CellPlan::realtime_share).fold(0.0, f64::max);
        warnings.extend(warning::realtime_throttling(&session.environment, realtime_share));
        let mut plan = Self {
            remedies: flags.remedies,
            samples: flags.samples.unwrap_or(u64::MAX),
            turn: ENDLESS,
            budget: None,
            turns: u64::MAX,
            evidence: flags.evidence,
            interval: flags.interval,
            keeps_gaps: flags.trace.is_some(),
            counts_by_us: flags.histogram,
            cpus,
            is_of_every_cpu: false,
            contest,
            rescheduler,
            stop_above: flags.stop_above,
            warnings,
            cells,
        };
        plan.divide(flags, session);
        Ok(plan)
    }

    /// Divides the time between the cells.
    fn divide(&mut self, flags: &Flags, session: &Session) {
        let cells = self.cells.len() as u32;
        if session.is_long() && !self.keeps_gaps {
            // However long it is, at most a minute is lost, and there is a line for each.
            (self.budget, self.turn) = (session.seconds, A_MINUTE);
            return;
        }
        let live_alone = self.interval.is_some() && cells == 1;
        // A trace, or lines of one scenario, are of one stretch of time.
        let is_one = self.keeps_gaps || live_alone;
        match (session.seconds, flags.samples) {
            // Live lines continue until a signal ends them.
            (None, None) if live_alone => self.turns = 1,
            (None, Some(_)) => self.turns = if is_one { 1 } else { TURNS },
            (given, _) => {
                let default = if self.remedies { DEFAULT_REMEDIES_BUDGET } else { DEFAULT_BUDGET * cells };
                let budget = given.unwrap_or(default);
                self.budget = Some(budget);
                let turns = if is_one { 1 } else { turns_within(budget / cells, self.least_turn()) };
                let time = budget / (cells * turns);
                self.turn = if is_one { time } else { turn_within(time) };
                if is_one {
                    self.turns = 1;
                }
            }
        }
    }

    /// Returns the shortest repetition in which every cell's competitors have had a time slice each.
    fn least_turn(&self) -> Duration {
        let competitors = self.contest.competitors;
        let all_s = self.cells.iter().filter_map(|cell| cell.competitor_slice_every_s(competitors));
        Duration::from_secs_f64(all_s.fold(0.0, f64::max))
    }

    /// Returns whether the cell is one of 1999's test: its weights, one competitor, its rescheduler.
    pub fn is_like_1999(&self, cell: &CellPlan) -> bool {
        let contest = &self.contest;
        let is_same_contest = contest.competitors == 1 && cells::nice_for(RATIO_1999) == contest.nice;
        (cell.competitor.is_none() || is_same_contest) && cell.rescheduler.is_none_or(|period| period == RESCHEDULER)
    }

    /// Returns the expected time; `None` if that depends on the machine, or on the user.
    pub fn expected_time(&self) -> Option<Duration> {
        self.budget
    }

    /// Returns whether only the number of readings ends it.
    pub fn counts_samples(&self) -> bool {
        self.budget.is_none() && self.samples < u64::MAX
    }

    /// Returns the description for the record.
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
            every_cpu: if self.is_of_every_cpu { self.cpus.iter().collect() } else { Vec::new() },
            wake: None,
            stop_above_us: self.stop_above.map(|limit| limit.as_secs_f64() * 1e6),
            order,
        }
    }

    /// Plans the same quiet scenario on all of these CPUs at once.
    pub fn of_every_cpu(
        flags: &Flags,
        session: &Session,
        (cpus, left_out): (CpuSet, Option<Warning>),
    ) -> Result<Self, UsageError> {
        let flags = Flags { scenario: vec![Scenario::Quiet], ..flags.clone() };
        let mut plan = Self::of(&flags, &session.within(session.seconds.unwrap_or(EVERY_CPU_BUDGET)))?;
        plan.warnings.extend(left_out);
        let turns = if session.is_long() { u64::MAX } else { TURNS_WITHIN.into() };
        Ok(Self { cpus, is_of_every_cpu: true, turns, ..plan })
    }
}

/// Returns the number of repetitions of a cell in its time: fewer where they would be shorter than the minimum, as long
/// as one such repetition fits.
fn turns_within(time: Duration, least: Duration) -> u32 {
    match time.div_duration_f64(least + BESIDE_A_TURN) as u32 {
        0 => TURNS_WITHIN,
        fitting => fitting.min(TURNS_WITHIN),
    }
}

/// Returns the sampling part of a repetition's time, so that all repetitions fit.
fn turn_within(time: Duration) -> Duration {
    time.saturating_sub(BESIDE_A_TURN).max(time / 2).max(SHORTEST_TURN)
}

/// Returns the CPU of the sampling thread, the last one, since device interrupts favour the first.
pub fn chosen_cpu(session: &Session) -> Result<usize, UsageError> {
    session.cpus.last().ok_or_else(|| UsageError("--cpus: no CPU remains".into()))
}

/// Checks that no flag refers to a load that none of the scenarios has.
fn check_use(flags: &Flags, cells: &[CellPlan]) -> Result<(), UsageError> {
    let unused = |flag: &str, which: &str| {
        let message = format!("--{flag}: none of the scenarios has {which}; choose one that has, or omit --{flag}");
        Err(UsageError(message))
    };
    if flags.competitors.is_some() && cells.iter().all(|cell| cell.competitor.is_none()) {
        return unused("competitors", "a competitor");
    }
    if flags.rescheduler.is_some() && cells.iter().all(|cell| cell.rescheduler.is_none()) {
        return unused("rescheduler", "a rescheduler");
    }
    Ok(())
}

fn chosen_scenarios(flags: &Flags) -> Result<Vec<Scenario>, UsageError> {
    let has_competitor = flags.competitors.is_some() || flags.nice.is_some() || flags.weight_ratio.is_some();
    let is_meant = |scenario: &Scenario| match scenario {
        Scenario::Quiet => true,
        Scenario::Competitor => has_competitor,
        Scenario::Both => has_competitor && flags.rescheduler.is_some(),
        Scenario::Rescheduler => flags.rescheduler.is_some(),
    };
    match flags.scenario.as_slice() {
        // A trace is of one scenario.
        [] if flags.trace.is_some() => Ok(vec![Scenario::Quiet]),
        [] => Ok(Scenario::value_variants().iter().copied().filter(is_meant).collect()),
        [_, _, ..] if flags.trace.is_some() => {
            Err(UsageError("--trace: a trace contains one scenario; choose one, such as --scenario quiet".into()))
        }
        named => Ok(Scenario::value_variants().iter().copied().filter(|scenario| named.contains(scenario)).collect()),
    }
}

/// Returns the message that `--stop-above` ended the measurement, if it did.
pub fn ended_by(is_stopped: bool) -> Option<String> {
    is_stopped.then(|| "noise ended: something was longer than --stop-above".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_leave_room_for_their_overhead() {
        let ms = Duration::from_millis;
        assert_eq!(turn_within(ms(1_100)), ms(1_000));
        assert_eq!(turn_within(ms(150)), ms(75));
    }

    #[test]
    fn repetitions_fit_a_competitors_slice_where_possible() {
        let (s, every) = (Duration::from_secs, Duration::from_millis(3_990));
        // `contend noise`, with 10 s per scenario, and a survey: at 997:1 and at 68:1.
        assert_eq!([25, 10, 4].map(|time| turns_within(s(time), every)), [6, 2, 9]);
        assert_eq!(turns_within(s(4), Duration::from_millis(277)), 9);
        assert!(turn_within(s(25) / 6) > every);
    }
}
