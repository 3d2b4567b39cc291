//! Snapshots of all accounts of the CPUs' time at one moment, and the differences between two of them.
//!
//! The kernel has two accounts: that of the timer tick, and, on some systems, an exact one that can be read.

use instruments::clock::Clock;
use loops::load::{Demands, Spinner};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fs, io};

/// The accounts of one CPU at one moment.
///
/// Sums over its spinners; a delta is the difference of two.
#[derive(Clone, Copy, Debug, Default)]
struct CpuSnapshot {
    /// The time of the snapshot, in ticks.
    at: u64,
    spinner_ns: u64,
    grinds: u64,
    usual_ticks: u64,
    demands: Demands,
    /// The time that all tasks ran, the spinners included.
    run_ns: Option<u64>,
}

/// A snapshot, and whether it is of a single moment.
struct Attempt {
    snapshot: CpuSnapshot,
    /// The begin of the attempt, in ticks.
    began: u64,
    /// The time until all accounts were read.
    width_ns: f64,
    /// Whether the account of all tasks has just been updated.
    up_to_date: bool,
}

impl Attempt {
    fn is_good(&self, reader: &Reader) -> bool {
        let matters = reader.exact.is_some() && !reader.realtime;
        self.width_ns < NARROW_NS && (self.up_to_date || !matters)
    }
}

/// One moment on all CPUs, each with its own snapshot.
pub struct Snapshot(Vec<CpuSnapshot>);

/// The activity of one CPU between two snapshots, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delta {
    /// The time for which the spinners wanted the CPU: all of it, except for real-time ones.
    pub wanted_ns: f64,
    /// The part of it that they got.
    pub got_ns: f64,
    /// The time that their busy loops would have taken without interruptions.
    pub ground_ns: f64,
    /// The number of their busy loops.
    pub grinds: u64,
    /// The time from snapshot to snapshot.
    pub wall_ns: f64,
    /// The time that all other tasks ran, if it is known.
    pub others_ns: Option<f64>,
}

impl Delta {
    /// Returns the sum of both deltas.
    pub fn and(self, other: Self) -> Self {
        Self {
            wanted_ns: self.wanted_ns + other.wanted_ns,
            got_ns: self.got_ns + other.got_ns,
            ground_ns: self.ground_ns + other.ground_ns,
            grinds: self.grinds + other.grinds,
            wall_ns: self.wall_ns + other.wall_ns,
            others_ns: self.others_ns.zip(other.others_ns).map(|(one, two)| one + two),
        }
    }
}

/// A reader of the accounts.
pub struct Reader<'a> {
    /// The spinners of each CPU.
    pub spinners: Vec<&'a [Spinner]>,
    pub clock: Clock,
    /// The source of the exact time of all tasks, if any.
    pub exact: Option<ExactAccount>,
    /// Whether the spinners are real-time, and so want the CPU only periodically.
    pub realtime: bool,
}

/// The time for which a snapshot may be delayed until a spinner is seen running.
const PATIENCE: Duration = Duration::from_millis(2);
/// The time within which accounts count as read at one moment.
///
/// With many CPUs reading takes longer, and then the narrowest attempt counts.
const NARROW_NS: f64 = 200_000.0;
/// The pause between two attempts: not a divisor of the usual periods of programs, so that the attempts meet different
/// moments.
const BETWEEN: Duration = Duration::from_micros(137);

impl Reader<'_> {
    /// Takes a snapshot on each CPU.
    ///
    /// The account of all tasks is updated only at a switch, a tick, or when the running task's own account is read. So
    /// the snapshot is delayed, for at most 2 ms, until a spinner runs, whose account has just been read, or this
    /// thread, which has just been switched in; and until this thread has not been delayed between the accounts. Every
    /// delta begins and ends at such a moment, so the choice favours neither the spinner nor the others.
    ///
    /// # Errors
    /// A spinner has ended.
    pub fn take(&self) -> io::Result<Snapshot> {
        let began = Instant::now();
        let mut best = self.once()?;
        while !best.iter().all(|attempt| attempt.is_good(self)) && began.elapsed() < PATIENCE {
            std::thread::sleep(BETWEEN);
            for (best, next) in best.iter_mut().zip(self.once()?) {
                let better = next.is_good(self) || next.width_ns < best.width_ns;
                if better && !best.is_good(self) {
                    *best = next;
                }
            }
        }
        Ok(Snapshot(best.into_iter().map(|attempt| attempt.snapshot).collect()))
    }

    /// Makes one attempt on each CPU.
    fn once(&self) -> io::Result<Vec<Attempt>> {
        let mut attempts = Vec::with_capacity(self.spinners.len());
        for spinners in &self.spinners {
            attempts.push(self.read(spinners)?);
        }
        if let Some(exact) = &self.exact {
            let run_ns = exact.run_ns();
            for (attempt, spinners) in attempts.iter_mut().zip(&self.spinners) {
                attempt.snapshot.run_ns = run_ns.get(&spinners[0].cpu).copied();
            }
        }
        let end = self.clock.stamp();
        for attempt in &mut attempts {
            attempt.width_ns = self.clock.to_ns(end.saturating_sub(attempt.began));
        }
        Ok(attempts)
    }

    fn read(&self, spinners: &[Spinner]) -> io::Result<Attempt> {
        let sum = || spinners.iter().try_fold(0, |sum, spinner| Ok::<_, io::Error>(sum + spinner.exact_ns()?));
        let first = self.clock.stamp();
        let before = sum()?;
        let between = self.clock.stamp();
        let spinner_ns = sum()?;
        let last = self.clock.stamp();
        let apart_ns = self.clock.to_ns(last - first) / 2.0;
        let demands = spinners.iter().map(Spinner::demands).fold(Demands::default(), |sum, one| Demands {
            wanted_ticks: sum.wanted_ticks + one.wanted_ticks,
            got_ns: sum.got_ns + one.got_ns,
            grinds: sum.grinds + one.grinds,
        });
        let snapshot = CpuSnapshot {
            at: between + (last - between) / 2,
            spinner_ns,
            grinds: spinners.iter().map(Spinner::grinds).sum(),
            usual_ticks: spinners.iter().map(Spinner::usual_ticks).filter(|&ticks| ticks > 0).min().unwrap_or(0),
            demands,
            run_ns: None,
        };
        let spinner_runs = (spinner_ns - before) as f64 > 0.5 * apart_ns;
        let up_to_date = spinner_runs || instruments::cpus::current_cpu() == spinners[0].cpu;
        Ok(Attempt { snapshot, began: first, width_ns: 0.0, up_to_date })
    }

    /// Returns the activity of each CPU from one snapshot to a later one.
    pub fn deltas(&self, from: &Snapshot, to: &Snapshot) -> Vec<Delta> {
        from.0.iter().zip(&to.0).map(|(from, to)| self.delta(from, to)).collect()
    }

    fn delta(&self, from: &CpuSnapshot, to: &CpuSnapshot) -> Delta {
        let wall_ns = self.clock.to_ns(to.at.saturating_sub(from.at));
        let spinner_ns = to.spinner_ns.saturating_sub(from.spinner_ns) as f64;
        let run_ns = from.run_ns.zip(to.run_ns).map(|(from, to)| to.saturating_sub(from) as f64);
        let (wanted_ns, got_ns, grinds) = if self.realtime {
            let wanted = to.demands.wanted_ticks - from.demands.wanted_ticks;
            let got = to.demands.got_ns - from.demands.got_ns;
            (self.clock.to_ns(wanted), got as f64, to.demands.grinds - from.demands.grinds)
        } else {
            (wall_ns, spinner_ns, to.grinds.saturating_sub(from.grinds))
        };
        Delta {
            wanted_ns,
            got_ns,
            ground_ns: grinds as f64 * self.clock.to_ns(to.usual_ticks),
            grinds,
            wall_ns,
            others_ns: run_ns.map(|run_ns| (run_ns - spinner_ns).max(0.0)),
        }
    }
}

/// The time of other tasks on each CPU as the tick attributes it, in nanoseconds, and the moment.
pub struct TickSnapshot {
    at: u64,
    others_ns: Vec<Option<f64>>,
}

impl Reader<'_> {
    /// Reads `/proc/stat` and subtracts the time that the tick attributes to the spinners.
    ///
    /// # Errors
    /// A spinner has ended.
    pub fn tick(&self) -> io::Result<TickSnapshot> {
        let busy = busy_by_tick_ns();
        let mut others_ns = Vec::with_capacity(self.spinners.len());
        for spinners in &self.spinners {
            let own = spinners.iter().try_fold(0, |sum, spinner| Ok::<_, io::Error>(sum + spinner.by_tick_ns()?))?;
            others_ns.push(busy.get(&spinners[0].cpu).map(|&busy| busy as f64 - own as f64));
        }
        Ok(TickSnapshot { at: self.clock.now(), others_ns })
    }
}

impl TickSnapshot {
    /// Returns the share of each CPU that other tasks had since `earlier`, as the tick attributes it.
    ///
    /// The fields are printed in whole jiffies, so a short stretch may be slightly negative, which counts as 0.
    pub fn shares_since(&self, earlier: &Self, clock: Clock) -> Vec<Option<f64>> {
        let wall_ns = clock.to_ns(self.at - earlier.at);
        let pairs = self.others_ns.iter().zip(&earlier.others_ns);
        pairs
            .map(|(now, then)| Some(((*now)? - (*then)?).max(0.0) / wall_ns).filter(|share| share.is_finite()))
            .collect()
    }
}

/// Returns the busy time of each CPU as the tick attributes it: the fields of `/proc/stat` for user, nice, system,
/// interrupts and soft interrupts, in nanoseconds.
///
/// Idle, waiting for a disk and stolen are not busy; a guest's time is part of user.
///
/// Empty when the file cannot be read.
fn busy_by_tick_ns() -> BTreeMap<usize, u64> {
    let jiffy_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    parse_stat(&stat).into_iter().map(|(cpu, jiffies)| (cpu, jiffies * jiffy_ns)).collect()
}

/// Returns the jiffies of user, nice, system, interrupts and soft interrupts: fields 1, 2, 3, 6 and 7 of a CPU's line.
fn parse_stat(stat: &str) -> BTreeMap<usize, u64> {
    let line = |line: &str| {
        let mut fields = line.strip_prefix("cpu")?.split_whitespace();
        let cpu = fields.next()?.parse().ok()?;
        let fields: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        Some((cpu, [0, 1, 2, 5, 6].iter().filter_map(|&index| fields.get(index)).sum()))
    };
    // The first line, `cpu`, is the sum of all: its first field is not a CPU's number, so the space distinguishes it.
    stat.lines().filter(|line| !line.starts_with("cpu ")).filter_map(line).collect()
}

/// A source of the exact time that tasks ran on each CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExactAccount {
    /// `cpuacct.usage_percpu` of the root control group (version 1).
    ControlGroup(PathBuf),
    /// The run time in `/proc/schedstat`, which is updated when a task leaves the CPU.
    SchedStat,
}

impl ExactAccount {
    /// Returns the best one that this process can read.
    pub fn find() -> Option<Self> {
        let group = root_group(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()).map(Self::ControlGroup);
        group.into_iter().chain([Self::SchedStat]).find(|account| !account.run_ns().is_empty())
    }

    /// Returns its name in a record.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ControlGroup(_) => "cpuacct.usage_percpu",
            Self::SchedStat => "/proc/schedstat",
        }
    }

    /// Returns the time that tasks have run on each CPU, in nanoseconds; empty when it cannot be read.
    pub fn run_ns(&self) -> BTreeMap<usize, u64> {
        match self {
            Self::ControlGroup(file) => parse_usage(&fs::read_to_string(file).unwrap_or_default()),
            Self::SchedStat => parse_schedstat(&fs::read_to_string("/proc/schedstat").unwrap_or_default()),
        }
    }
}

/// Returns the file of the topmost control group, if the whole hierarchy is mounted: a container sees a part, whose
/// account lacks all other tasks.
fn root_group(mounts: &str) -> Option<PathBuf> {
    let place = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let is_cpuacct = kind.starts_with("cgroup ") && kind.split([' ', ',']).any(|option| option == "cpuacct");
        let mut fields = place.split(' ').skip(3);
        let (inside, at) = (fields.next()?, fields.next()?);
        (is_cpuacct && inside == "/").then(|| PathBuf::from(at))
    })?;
    Some(place.join("cpuacct.usage_percpu"))
}

/// Parses a number for each CPU, from 0.
fn parse_usage(text: &str) -> BTreeMap<usize, u64> {
    text.split_whitespace().map_while(|field| field.parse().ok()).enumerate().collect()
}

/// Parses the seventh number of a CPU's line, in nanoseconds.
fn parse_schedstat(text: &str) -> BTreeMap<usize, u64> {
    let line = |line: &str| {
        let mut fields = line.strip_prefix("cpu")?.split_whitespace();
        Some((fields.next()?.parse().ok()?, fields.nth(6)?.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busy_fields_of_single_cpus_are_added() {
        let stat =
            "cpu  10 20 30 40 50 60 70 80 90 0\ncpu0 1 2 3 1000 2000 4 5 6000 7 0\ncpu12 9 0 0 1 0 0 0 0 0 0\nintr 5";
        assert_eq!(parse_stat(stat), BTreeMap::from([(0, 15), (12, 9)]));
    }

    #[test]
    fn exact_accounts_are_read() {
        assert_eq!(parse_usage("398 0 7 \n"), BTreeMap::from([(0, 398), (1, 0), (2, 7)]));
        let schedstat = "version 17\ntimestamp 4294\ncpu1 0 0 1 2 3 4 7000 800 9\ndomain0 3 1 2";
        assert_eq!(parse_schedstat(schedstat), BTreeMap::from([(1, 7000)]));
    }

    #[test]
    fn only_the_account_of_all_tasks_is_used() {
        let whole = "30 20 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct";
        let expected = PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage_percpu");
        assert_eq!(root_group(whole), Some(expected));
        assert_eq!(root_group(&whole.replace(" / /sys", " /docker/abc /sys")), None);
        assert_eq!(root_group("30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"), None);
    }
}
