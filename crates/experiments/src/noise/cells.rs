//! The configurations that are compared: a sampling thread, the load next to it, and its scheduling.

use clap::ValueEnum;
use instruments::cpus::CpuSet;
use instruments::cpus::realtime::may_use_realtime;
use instruments::cpus::schedule::{Schedule, current_slice, reschedule_current_thread, weight};
use instruments::warning::{LeftOut, NiceRefused, Warning};
use serde::{Deserialize, Serialize};
use std::io;
use std::str::FromStr;
use std::time::Duration;
use terminal::nanoseconds;

/// One combination of a sampling thread and the load next to it.
#[derive(Clone, Debug, PartialEq)]
pub struct CellPlan {
    /// The name in the record and the tables.
    pub name: String,
    /// The scenario, unless it is a remedy.
    pub scenario: Option<Scenario>,
    pub reader: Schedule,
    pub reader_cpu: usize,
    /// The scheduling of each competitor, if there are any.
    pub competitor: Option<Schedule>,
    /// The sleep of the rescheduler, if there is one.
    pub rescheduler: Option<Duration>,
}

impl CellPlan {
    /// Returns whether the sampling thread is real-time, and so must sleep periodically.
    pub fn reader_rests(&self) -> bool {
        self.reader.is_realtime()
    }

    /// Returns the maximum share of the CPU that its real-time threads may use.
    pub fn realtime_share(&self) -> f64 {
        // The sampling thread rests for a tenth of the time; a rescheduler only wakes and sleeps again.
        match (self.reader_rests(), self.rescheduler) {
            (true, _) => 0.9,
            (false, Some(_)) => 0.5,
            (false, None) => 0.0,
        }
    }

    /// Returns the time in which each of this many competitors has one time slice on the sampling thread's CPU: a slice
    /// divided by its share of the CPU. `None` where nothing competes with it.
    pub fn competitor_slice_every_s(&self, competitors: usize) -> Option<f64> {
        let competitor = f64::from(self.competitor.and_then(share_weight)?);
        // A real-time sampling thread leaves the CPU to the others in each of its pauses, several times per second.
        let reader = f64::from(share_weight(self.reader).unwrap_or(0));
        Some(SLICE_S * (reader / competitor + competitors as f64))
    }
}

/// The time slice of the kernel's fair scheduler: at most 2.8 ms, and it ends with a tick, of which there are 250 per
/// second. With 100 ticks per second a slice is longer; the first one comes no later.
const SLICE_S: f64 = 0.004;

/// Returns the weight by which the fair scheduler divides the CPU; `None` for a real-time thread.
fn share_weight(schedule: Schedule) -> Option<u32> {
    /// The weight of `SCHED_IDLE` in the kernel's sched.h.
    const IDLE: u32 = 3;
    match schedule {
        Schedule::Fair { nice, .. } | Schedule::Batch { nice } => Some(weight(nice)),
        Schedule::Idle => Some(IDLE),
        Schedule::Fifo { .. } | Schedule::RoundRobin { .. } | Schedule::Deadline { .. } => None,
    }
}

/// The two sides, as far as the machine grants them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contest {
    /// The CPU that they contend for.
    pub cpu: usize,
    pub nice: Nice,
    pub competitors: usize,
}

/// The resources of a cell.
pub struct Machine<'a> {
    /// Whether there is only one CPU, which a real-time thread would occupy.
    pub lone_cpu: bool,
    /// The session's CPUs.
    pub session: &'a CpuSet,
}

/// Returns the highest ratio of two weights.
pub fn highest_ratio() -> f64 {
    f64::from(weight(-20)) / f64::from(weight(19))
}

/// Returns nice values whose weights have nearly this ratio: the sampling thread stays at 0 as long as competitors can
/// be nice enough, because lower values need a privilege.
pub fn nice_for(ratio: f64) -> Nice {
    let off =
        |reader: i32, competitor: i32| (f64::from(weight(reader)) / f64::from(weight(competitor)) / ratio).ln().abs();
    let with_nicer_competitors = (0..=19).map(|competitor| Nice { reader: 0, competitor });
    let with_higher_readers = (-20..0).map(|reader| Nice { reader, competitor: 19 });
    let distance = |nice: &Nice| off(nice.reader, nice.competitor);
    let all = with_nicer_competitors.chain(with_higher_readers);
    all.min_by(|a, b| distance(a).total_cmp(&distance(b))).expect("there are nice values")
}

impl Contest {
    /// Returns the part of a request that the machine grants; adds warnings about the rest.
    pub fn granted(cpu: usize, wished: Nice, competitors: usize, warnings: &mut Vec<Warning>) -> Self {
        let mut nice = wished;
        for value in [&mut nice.reader, &mut nice.competitor] {
            let wanted = *value;
            while *value < 19 && is_granted(Schedule::Fair { nice: *value, slice: None }).is_err() {
                *value += 1;
            }
            if *value != wanted {
                warnings.push(Warning::from(NiceRefused { wanted, granted: *value }));
            }
        }
        Self { cpu, nice, competitors }
    }

    pub fn weight_ratio(&self) -> f64 {
        f64::from(weight(self.nice.reader)) / f64::from(weight(self.nice.competitor))
    }

    fn reader(&self) -> Schedule {
        Schedule::Fair { nice: self.nice.reader, slice: None }
    }

    fn competitor(&self) -> Schedule {
        Schedule::Fair { nice: self.nice.competitor, slice: None }
    }

    /// Returns a cell with priorities only.
    fn bare(&self, name: impl Into<String>) -> CellPlan {
        CellPlan {
            name: name.into(),
            scenario: None,
            reader: self.reader(),
            reader_cpu: self.cpu,
            competitor: Some(self.competitor()),
            rescheduler: None,
        }
    }
}

/// Checks that a thread of contend may be scheduled in this way, by trying it on a thread that ends.
pub fn is_granted(schedule: Schedule) -> io::Result<()> {
    let trial = std::thread::Builder::new().name("trial".into()).spawn(move || reschedule_current_thread(schedule))?;
    trial.join().unwrap_or_else(|_| Err(io::Error::other("the trial panicked")))
}

/// Returns the reason why no real-time thread is possible, if so.
pub fn no_realtime(machine: &Machine<'_>) -> Option<String> {
    if machine.lone_cpu {
        return Some("real-time threads must leave one CPU to other tasks, and this machine has only one".into());
    }
    may_use_realtime().err().map(|missing| format!("{missing} ({})", missing.remedy()))
}

/// Returns the cells of 1999.
pub fn scenarios(
    chosen: &[Scenario],
    rescheduler: Duration,
    contest: &Contest,
    machine: &Machine<'_>,
    warnings: &mut Vec<Warning>,
) -> Vec<CellPlan> {
    let refused = no_realtime(machine);
    let mut cells = Vec::new();
    for &scenario in chosen {
        let (name, competes, reschedules) = match scenario {
            Scenario::Quiet => ("quiet", false, false),
            Scenario::Competitor => ("competitor", true, false),
            Scenario::Both => ("competitor and rescheduler", true, true),
            Scenario::Rescheduler => ("rescheduler", false, true),
        };
        match &refused {
            Some(reason) if reschedules => {
                warnings
                    .push(Warning::from(LeftOut { what: format!("the scenario `{name}`"), reason: reason.clone() }));
            }
            _ => cells.push(CellPlan {
                scenario: Some(scenario),
                competitor: competes.then(|| contest.competitor()),
                rescheduler: reschedules.then_some(rescheduler),
                ..contest.bare(name)
            }),
        }
    }
    cells
}

const RESCHEDULERS: [Duration; 4] =
    [Duration::from_millis(1), Duration::from_micros(500), Duration::from_micros(125), Duration::from_micros(50)];
/// The shortest time slice that the kernel grants.
const SHORT_SLICE: Duration = Duration::from_micros(100);
/// The lowest real-time priority is above every thread that has none.
const REALTIME: u32 = 1;
/// The names of the remedies that the closing words look up.
pub const EQUAL: &str = "equal nice values";
pub const ALONE: &str = "nice values alone";

/// Returns the same load under each remedy that the machine allows.
pub fn remedies(contest: &Contest, machine: &Machine<'_>, warnings: &mut Vec<Warning>) -> Vec<CellPlan> {
    let bare = |name: &str| contest.bare(name);
    let mut left_out = |what: &str, reason: String| warnings.push(Warning::from(LeftOut { what: what.into(), reason }));
    let equal = Schedule::Fair { nice: contest.nice.reader.max(0), slice: None };
    let mut cells = vec![CellPlan { reader: equal, competitor: Some(equal), ..bare(EQUAL) }, bare(ALONE)];
    match no_realtime(machine) {
        Some(reason) => left_out("the remedies with a rescheduler or a real-time reader", reason),
        None => {
            cells.extend(RESCHEDULERS.map(|period| CellPlan {
                rescheduler: Some(period),
                ..bare(&format!("rescheduler {}", nanoseconds(period.as_nanos() as f64)))
            }));
            cells.push(CellPlan { reader: Schedule::RoundRobin { priority: REALTIME }, ..bare("reader SCHED_RR") });
            cells.push(CellPlan { reader: Schedule::Fifo { priority: REALTIME }, ..bare("reader SCHED_FIFO") });
        }
    }
    if keeps_slices() {
        let short = |nice| Schedule::Fair { nice, slice: Some(SHORT_SLICE) };
        cells.push(CellPlan { reader: short(contest.nice.reader), ..bare("reader's slice 100 µs") });
        cells.push(CellPlan { competitor: Some(short(contest.nice.competitor)), ..bare("competitor's slice 100 µs") });
    } else {
        left_out("the remedies with shorter slices", "custom time slices need Linux 6.12".into());
    }
    let batch = Schedule::Batch { nice: contest.nice.competitor };
    cells.push(CellPlan { competitor: Some(batch), ..bare("competitor SCHED_BATCH") });
    cells.push(CellPlan { competitor: Some(Schedule::Idle), ..bare("competitor SCHED_IDLE") });
    match machine.session.iter().find(|&cpu| cpu != contest.cpu) {
        Some(reader_cpu) => cells.push(CellPlan { reader_cpu, ..bare("reader on another CPU") }),
        None => left_out("the remedy of another CPU", "there is only one to use".into()),
    }
    cells
}

/// Returns whether this kernel supports a time slice for each thread.
fn keeps_slices() -> bool {
    let requested = Schedule::Fair { nice: 19, slice: Some(SHORT_SLICE) };
    let trial = move || reschedule_current_thread(requested).is_ok() && current_slice() == Some(SHORT_SLICE);
    std::thread::spawn(trial).join().unwrap_or(false)
}

/// The load next to the sampling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scenario {
    /// no load from contend
    Quiet,
    /// competing threads
    Competitor,
    /// competing threads and a rescheduler
    Both,
    /// a rescheduler
    Rescheduler,
}

/// The nice values of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nice {
    pub reader: i32,
    pub competitor: i32,
}

impl FromStr for Nice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value = |part: &str| match part.trim().parse() {
            Ok(nice @ -20..=19) => Ok(nice),
            _ => Err(format!("`{part}` is not a nice value from -20 to 19")),
        };
        let (reader, competitor) = text
            .split_once(',')
            .ok_or("needs two values, of the sampling thread and of the competitors, such as -12,19")?;
        Ok(Self { reader: value(reader)?, competitor: value(competitor)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_become_nice_values() {
        assert_eq!(nice_for(1.0), Nice { reader: 0, competitor: 0 });
        assert_eq!(nice_for(68.0), Nice { reader: 0, competitor: 19 });
        assert_eq!(nice_for(1024.0), Nice { reader: -12, competitor: 19 });
        assert_eq!(nice_for(highest_ratio()), Nice { reader: -20, competitor: 19 });
    }

    #[test]
    fn competitor_waits_a_slice_divided_by_its_share() {
        let contest = |ratio: f64, competitors| Contest { cpu: 0, nice: nice_for(ratio), competitors };
        let every_s = |ratio: f64, competitors| {
            contest(ratio, competitors).bare("").competitor_slice_every_s(competitors).unwrap()
        };
        assert!((every_s(1.0, 1) - 0.008).abs() < 1e-9 && (every_s(1.0, 3) - 0.016).abs() < 1e-9);
        // 15:1024 and 15:14949.
        assert!((every_s(68.0, 1) - 0.277).abs() < 1e-3 && (every_s(1024.0, 1) - 3.99).abs() < 1e-2);
        let alone = CellPlan { competitor: None, ..contest(68.0, 1).bare("") };
        assert_eq!(alone.competitor_slice_every_s(1), None);
    }

    #[test]
    fn a_lone_cpu_gets_no_realtime_thread() {
        let contest = Contest { cpu: 0, nice: Nice { reader: 0, competitor: 19 }, competitors: 1 };
        let session = CpuSet::single(0);
        let machine = Machine { lone_cpu: true, session: &session };
        let mut warnings = Vec::new();
        let all = [Scenario::Quiet, Scenario::Competitor, Scenario::Both, Scenario::Rescheduler];
        let cells = scenarios(&all, Duration::from_micros(125), &contest, &machine, &mut warnings);
        assert_eq!(cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>(), ["quiet", "competitor"]);
        let cells = remedies(&contest, &machine, &mut warnings);
        assert!(cells.iter().all(|cell| cell.rescheduler.is_none() && !cell.reader_rests()));
        assert_eq!(warnings.iter().filter(|warning| warning.code() == "left_out").count(), 4);
    }

    #[test]
    fn nice_values_come_in_pairs() {
        assert_eq!("-12,19".parse(), Ok(Nice { reader: -12, competitor: 19 }));
        for wrong in ["5", "-21,0", "0,20", "a,b", ""] {
            assert!(wrong.parse::<Nice>().is_err(), "{wrong}");
        }
    }
}
