//! Snapshots of all accounts of the CPUs' time at one moment, and the differences between two of them.
//!
//! The kernel has two accounts: that of the timer tick, and an exact one where there is one that can be read.

use instruments::clock::Clock;
use loops::load::{Demands, Soaker};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fs, io};

/// The accounts of one CPU at one moment. Sums over its spinners; a delta is the difference of two.
#[derive(Clone, Copy, Debug, Default)]
struct CpuSnapshot {
    /// When, in ticks.
    at: u64,
    soaked_ns: u64,
    grinds: u64,
    usual_ticks: u64,
    demands: Demands,
    /// What all tasks ran, the soakers included.
    run_ns: Option<u64>,
}

/// A snapshot, and whether it is one of a single moment.
struct Attempt {
    snapshot: CpuSnapshot,
    /// When it began, in ticks.
    began: u64,
    /// How long it took until all accounts were read.
    width_ns: f64,
    /// The account of all tasks has just been brought up to date.
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

/// What happened on one CPU between two snapshots, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delta {
    /// How long the soakers wanted the CPU: all the time, for those that are not real-time.
    pub wanted_ns: f64,
    /// The part of it that they got.
    pub got_ns: f64,
    /// How long their grinds would have taken if nothing had interrupted them.
    pub ground_ns: f64,
    /// How many grinds that were.
    pub grinds: u64,
    /// From snapshot to snapshot.
    pub wall_ns: f64,
    /// What all other tasks ran, if it is known.
    pub others_ns: Option<f64>,
}

impl Delta {
    /// Both deltas together.
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

/// Reads the accounts.
pub struct Reader<'a> {
    /// The soakers of each CPU.
    pub soakers: Vec<&'a [Soaker]>,
    pub clock: Clock,
    /// Where the exact time of all tasks is read, if anywhere.
    pub exact: Option<ExactAccount>,
    /// Real-time soakers, which want the CPU only now and then.
    pub realtime: bool,
}

/// How long a snapshot may be put off until a soaker is seen running.
const PATIENCE: Duration = Duration::from_millis(2);
/// Accounts that are read within this time are of one moment. Many CPUs take longer, and then the narrowest try counts.
const NARROW_NS: f64 = 200_000.0;
/// Between two tries: no divisor of the periods that programs have, so that the tries meet different moments.
const BETWEEN: Duration = Duration::from_micros(137);

impl Reader<'_> {
    /// Takes a snapshot on each CPU.
    ///
    /// The account of all tasks is brought up to date only at a switch, a tick, or when the running task's own account
    /// is read. So the moment is put off, for 2 ms at most, until a soaker runs, whose account has just been read, or
    /// this thread, which has just come by a switch; and until this thread has not been held up between the accounts.
    /// Every delta begins and ends at such a moment, so the choice favours neither the soaker nor the others.
    ///
    /// # Errors
    /// A soaker has died.
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

    /// One attempt on each CPU.
    fn once(&self) -> io::Result<Vec<Attempt>> {
        let mut attempts = Vec::with_capacity(self.soakers.len());
        for soakers in &self.soakers {
            attempts.push(self.read(soakers)?);
        }
        if let Some(exact) = &self.exact {
            let run_ns = exact.run_ns();
            for (attempt, soakers) in attempts.iter_mut().zip(&self.soakers) {
                attempt.snapshot.run_ns = run_ns.get(&soakers[0].cpu).copied();
            }
        }
        let end = self.clock.stamp();
        for attempt in &mut attempts {
            attempt.width_ns = self.clock.to_ns(end.saturating_sub(attempt.began));
        }
        Ok(attempts)
    }

    fn read(&self, soakers: &[Soaker]) -> io::Result<Attempt> {
        let sum = || soakers.iter().try_fold(0, |sum, soaker| Ok::<_, io::Error>(sum + soaker.exact_ns()?));
        let first = self.clock.stamp();
        let before = sum()?;
        let between = self.clock.stamp();
        let soaked_ns = sum()?;
        let last = self.clock.stamp();
        let apart_ns = self.clock.to_ns(last - first) / 2.0;
        let demands = soakers.iter().map(Soaker::demands).fold(Demands::default(), |sum, one| Demands {
            wanted_ticks: sum.wanted_ticks + one.wanted_ticks,
            got_ns: sum.got_ns + one.got_ns,
            grinds: sum.grinds + one.grinds,
        });
        let snapshot = CpuSnapshot {
            at: between + (last - between) / 2,
            soaked_ns,
            grinds: soakers.iter().map(Soaker::grinds).sum(),
            usual_ticks: soakers.iter().map(Soaker::usual_ticks).filter(|&ticks| ticks > 0).min().unwrap_or(0),
            demands,
            run_ns: None,
        };
        let soaker_runs = (soaked_ns - before) as f64 > 0.5 * apart_ns;
        let up_to_date = soaker_runs || instruments::cpus::current_cpu() == soakers[0].cpu;
        Ok(Attempt { snapshot, began: first, width_ns: 0.0, up_to_date })
    }

    /// What happened on each CPU from one snapshot to a later one.
    pub fn deltas(&self, from: &Snapshot, to: &Snapshot) -> Vec<Delta> {
        from.0.iter().zip(&to.0).map(|(from, to)| self.delta(from, to)).collect()
    }

    fn delta(&self, from: &CpuSnapshot, to: &CpuSnapshot) -> Delta {
        let wall_ns = self.clock.to_ns(to.at.saturating_sub(from.at));
        let soaked_ns = to.soaked_ns.saturating_sub(from.soaked_ns) as f64;
        let run_ns = from.run_ns.zip(to.run_ns).map(|(from, to)| to.saturating_sub(from) as f64);
        let (wanted_ns, got_ns, grinds) = if self.realtime {
            let wanted = to.demands.wanted_ticks - from.demands.wanted_ticks;
            let got = to.demands.got_ns - from.demands.got_ns;
            (self.clock.to_ns(wanted), got as f64, to.demands.grinds - from.demands.grinds)
        } else {
            (wall_ns, soaked_ns, to.grinds.saturating_sub(from.grinds))
        };
        Delta {
            wanted_ns,
            got_ns,
            ground_ns: grinds as f64 * self.clock.to_ns(to.usual_ticks),
            grinds,
            wall_ns,
            others_ns: run_ns.map(|run_ns| (run_ns - soaked_ns).max(0.0)),
        }
    }
}

/// What the tick has seen on each CPU of others, in nanoseconds, and when.
pub struct TickSnapshot {
    at: u64,
    others_ns: Vec<Option<f64>>,
}

impl Reader<'_> {
    /// Reads `/proc/stat` and takes off what the tick attributes to the soakers.
    ///
    /// # Errors
    /// A soaker has died.
    pub fn tick(&self) -> io::Result<TickSnapshot> {
        let busy = busy_by_tick_ns();
        let mut others_ns = Vec::with_capacity(self.soakers.len());
        for soakers in &self.soakers {
            let own = soakers.iter().try_fold(0, |sum, soaker| Ok::<_, io::Error>(sum + soaker.by_tick_ns()?))?;
            others_ns.push(busy.get(&soakers[0].cpu).map(|&busy| busy as f64 - own as f64));
        }
        Ok(TickSnapshot { at: self.clock.now(), others_ns })
    }
}

impl TickSnapshot {
    /// The share of each CPU that others had since `earlier`, as the tick has it. The fields are printed in whole
    /// jiffies, so a short stretch may read a little below nothing: that is then nothing.
    pub fn shares_since(&self, earlier: &Self, clock: Clock) -> Vec<Option<f64>> {
        let wall_ns = clock.to_ns(self.at - earlier.at);
        let pairs = self.others_ns.iter().zip(&earlier.others_ns);
        pairs
            .map(|(now, then)| Some(((*now)? - (*then)?).max(0.0) / wall_ns).filter(|share| share.is_finite()))
            .collect()
    }
}

/// What the tick saw of each CPU: the busy fields of `/proc/stat` (user, nice, system, interrupts and soft interrupts),
/// in nanoseconds. Idle, waiting for a disk and stolen are not busy; a guest's time is part of user.
///
/// Empty when the file cannot be read.
fn busy_by_tick_ns() -> BTreeMap<usize, u64> {
    let jiffy_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    parse_stat(&stat).into_iter().map(|(cpu, jiffies)| (cpu, jiffies * jiffy_ns)).collect()
}

/// Jiffies of user, nice, system, interrupts and soft interrupts: fields 1, 2, 3, 6 and 7 of a CPU's line.
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
    /// The run time in `/proc/schedstat`, which is brought up to date when a task leaves the CPU.
    SchedStat,
}

impl ExactAccount {
    /// The best one that this machine lets us read.
    pub fn find() -> Option<Self> {
        let group = root_group(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()).map(Self::ControlGroup);
        group.into_iter().chain([Self::SchedStat]).find(|account| !account.run_ns().is_empty())
    }

    /// Its name in a record.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ControlGroup(_) => "cpuacct.usage_percpu",
            Self::SchedStat => "/proc/schedstat",
        }
    }

    /// How long tasks have run on each CPU, in nanoseconds; empty when it cannot be read.
    pub fn run_ns(&self) -> BTreeMap<usize, u64> {
        match self {
            Self::ControlGroup(file) => parse_usage(&fs::read_to_string(file).unwrap_or_default()),
            Self::SchedStat => parse_schedstat(&fs::read_to_string("/proc/schedstat").unwrap_or_default()),
        }
    }
}

/// The file of the topmost control group, if the whole hierarchy is mounted: a container sees a part, whose account
/// lacks all other tasks.
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

/// A number for each CPU, from 0.
fn parse_usage(text: &str) -> BTreeMap<usize, u64> {
    text.split_whitespace().map_while(|field| field.parse().ok()).enumerate().collect()
}

/// The seventh number of a CPU's line, in nanoseconds.
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
    fn only_the_account_of_all_tasks_counts() {
        let whole = "30 20 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct";
        let expected = PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage_percpu");
        assert_eq!(root_group(whole), Some(expected));
        assert_eq!(root_group(&whole.replace(" / /sys", " /docker/abc /sys")), None);
        assert_eq!(root_group("30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"), None);
    }
}
