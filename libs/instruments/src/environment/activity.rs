//! The use of the CPUs between two points in time: by this process, other processes, the hypervisor, or idle.

use crate::cpus::{CpuSet, files};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

// The load of the machine when the measurement began.

/// The machine's load, from `/proc/loadavg`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Number of tasks that ran, wanted to run or waited for a disk, averaged over about the last minute.
    pub average_1min: Option<f64>,
    /// The same average over five minutes.
    pub average_5min: Option<f64>,
    /// The same average over fifteen minutes.
    pub average_15min: Option<f64>,
    /// Number of tasks that ran or wanted to run at that moment, including the reading one.
    pub running_tasks: Option<u64>,
    /// Number of all tasks.
    pub tasks: Option<u64>,
}

impl Load {
    pub(super) fn read(root: &Path) -> Self {
        Self::parse(&files::text(root, "proc/loadavg").unwrap_or_default())
    }

    /// Parses `0.20 0.18 0.12 1/80 11206`.
    fn parse(text: &str) -> Self {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let average = |index: usize| fields.get(index)?.parse().ok();
        let (running, all) = fields.get(3).and_then(|tasks| tasks.split_once('/')).unwrap_or_default();
        Self {
            average_1min: average(0),
            average_5min: average(1),
            average_15min: average(2),
            running_tasks: running.parse().ok(),
            tasks: all.parse().ok(),
        }
    }
}

/// The kernel's account of CPU time at one point in time. Two of them give an [`ActivityShare`].
///
/// Most values in `/proc/stat` are counted in ticks: the task that runs at the tick is charged for the whole tick.
/// Work that fits between ticks is missed, work in phase with them is overcharged, and the values do not even sum to
/// the elapsed time. Idle time is the exception (a CPU that stops its tick measures it), and so is a process's own
/// CPU time. The shares are therefore computed from those two: see [`ActivityShare::other_share`].
#[derive(Clone, Debug)]
pub struct Activity {
    at: Instant,
    /// CPU time of this process, all threads, and of its children that have ended.
    own: Duration,
    /// Counters by CPU number, in jiffies of [`Activity::jiffies_per_s`].
    cpus: BTreeMap<usize, Jiffies>,
    jiffies_per_s: f64,
}

/// The used fields of one CPU's line of `/proc/stat`, cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Jiffies {
    /// Time idle, and idle while waiting for a disk.
    idle: u64,
    /// Time in interrupts and soft interrupts.
    interrupt: u64,
    steal: u64,
}

/// The use of the CPUs between two points in time. All shares are relative to the wall time of all requested CPUs: 1
/// is all of them for the whole time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActivityShare {
    /// Wall time between the two points, in s.
    pub wall_s: f64,
    /// Share of this process's CPU time, exact.
    pub own_share: f64,
    /// Share of the time that the hypervisor took, as far as it reports that to the kernel. It is a lower bound:
    /// unreported time is in `other_share`.
    pub steal_share: f64,
    /// Share of the time that was neither idle, nor stolen, nor used by this process: other processes, and interrupts
    /// that hit no thread of this process. If the kernel charges stolen time to the thread from which it was stolen,
    /// the share is too small by that time.
    pub other_share: f64,
    /// Share of the time in which the CPU was idle.
    pub idle_share: f64,
    /// Share of interrupts and soft interrupts as counted at the ticks. They are also part of the code that they
    /// interrupted, so this is not one of the parts that sum to 1.
    pub interrupt_share: f64,
    /// Resolution: one jiffy on one CPU, as a share. Smaller values are invisible, and two values of the same run may
    /// differ by this amount without a cause.
    pub resolution_share: f64,
}

impl Activity {
    /// Reads the account of every online CPU.
    ///
    /// The call reads `/proc/stat`, which takes tens of microseconds, and more on large machines. Call it outside the
    /// timed code.
    ///
    /// # Errors
    ///
    /// Returns an error if `/proc/stat` cannot be read, or has no line for a CPU.
    ///
    /// # Examples
    ///
    /// ```
    /// use instruments::cpus;
    /// use instruments::environment::Activity;
    ///
    /// let before = Activity::now()?;
    /// // … the measured code …
    /// let after = Activity::now()?;
    /// if let Some(share) = after.since(&before, &cpus::allowed()?) {
    ///     println!("other processes used {:.1} % of the CPUs", share.other_share * 100.0);
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn now() -> io::Result<Self> {
        let stat = std::fs::read_to_string("/proc/stat")?;
        let activity = Self {
            at: Instant::now(),
            own: own_time(),
            cpus: parse_stat(&stat),
            jiffies_per_s: rustix::param::clock_ticks_per_second() as f64,
        };
        if activity.cpus.is_empty() {
            return Err(io::Error::other("/proc/stat has no line for a CPU"));
        }
        Ok(activity)
    }

    /// Returns the share of the time since the machine started that the hypervisor took from these CPUs, as far as it
    /// reports that to the kernel; `None` if none of the CPUs is online, or the time is unknown.
    pub fn steal_share_since_boot(&self, cpus: &CpuSet) -> Option<f64> {
        let up_s = rustix::time::clock_gettime(ClockId::Boottime).tv_sec as f64;
        let stolen: Vec<u64> = cpus.iter().filter_map(|cpu| Some(self.cpus.get(&cpu)?.steal)).collect();
        let all_s = up_s * stolen.len() as f64;
        (all_s > 0.0).then(|| stolen.iter().sum::<u64>() as f64 / self.jiffies_per_s / all_s)
    }

    /// Returns the use of `cpus` between `earlier` and this account, or `None` if no time passed or none of the CPUs
    /// was online at both.
    ///
    /// Pass the CPUs on which this process runs. Its CPU time is known only as a whole, so time that it spends
    /// elsewhere would be subtracted from the wrong CPUs.
    pub fn since(&self, earlier: &Self, cpus: &CpuSet) -> Option<ActivityShare> {
        let spent: Vec<Jiffies> =
            cpus.iter().filter_map(|cpu| Some(self.cpus.get(&cpu)?.since(earlier.cpus.get(&cpu)?))).collect();
        let wall_s = self.at.checked_duration_since(earlier.at)?.as_secs_f64();
        let all_s = wall_s * spent.len() as f64;
        if all_s <= 0.0 {
            return None;
        }
        let share = |part: fn(&Jiffies) -> u64| {
            let jiffies: u64 = spent.iter().map(part).sum();
            (jiffies as f64 / self.jiffies_per_s / all_s).min(1.0)
        };
        let own_share = (self.own.saturating_sub(earlier.own).as_secs_f64() / all_s).min(1.0);
        let (steal_share, idle_share) = (share(|cpu| cpu.steal), share(|cpu| cpu.idle));
        Some(ActivityShare {
            wall_s,
            own_share,
            steal_share,
            other_share: (1.0 - idle_share - steal_share - own_share).max(0.0),
            idle_share,
            interrupt_share: share(|cpu| cpu.interrupt),
            resolution_share: 1.0 / self.jiffies_per_s / all_s,
        })
    }
}

/// Returns the CPU time of this process and of the children that it has waited for.
fn own_time() -> Duration {
    let own = clock_gettime(ClockId::ProcessCPUTime);
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to memory of the right size; all zeros is a valid value if the call fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let span = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1_000);
    Duration::new(own.tv_sec as u64, own.tv_nsec as u32) + span(usage.ru_utime) + span(usage.ru_stime)
}

impl Jiffies {
    /// Subtracts with saturation: idle time can run backwards by a jiffy when a CPU wakes while it is read.
    fn since(&self, earlier: &Self) -> Self {
        Self {
            idle: self.idle.saturating_sub(earlier.idle),
            interrupt: self.interrupt.saturating_sub(earlier.interrupt),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }
}

/// Parses the lines `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`.
fn parse_stat(stat: &str) -> BTreeMap<usize, Jiffies> {
    let lines = stat.lines().filter_map(|line| line.strip_prefix("cpu")?.split_once(' '));
    lines.filter_map(|(cpu, fields)| Some((cpu.parse().ok()?, parse_jiffies(fields)?))).collect()
}

fn parse_jiffies(fields: &str) -> Option<Jiffies> {
    let fields: Vec<u64> = fields.split_whitespace().map_while(|field| field.parse().ok()).collect();
    // Kernels before 2.6.11 end before steal; kernels without iowait, irq and softirq are not supported.
    let [_user, _nice, _system, idle, iowait, irq, softirq, rest @ ..] = fields.as_slice() else { return None };
    Some(Jiffies { idle: idle + iowait, interrupt: irq + softirq, steal: rest.first().copied().unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_five_values_are_parsed() {
        let load = Load::parse("0.20 1.18 12.12 3/1080 11206");
        assert_eq!((load.average_1min, load.average_5min, load.average_15min), (Some(0.2), Some(1.18), Some(12.12)));
        assert_eq!((load.running_tasks, load.tasks), (Some(3), Some(1080)));
    }

    #[test]
    fn empty_text_has_no_load() {
        let load = Load::parse("");
        assert_eq!((load.average_1min, load.running_tasks), (None, None));
    }

    const STAT: &str = "cpu  3461 0 2139 289532 325 0 34 14 0 0\ncpu0 1471 5 885 145249 17 2 7 3 0 0\n\
        cpu1 1990 0 1254 144283 308 0 27 11 0 0\nintr 12345 0\nctxt 98765\n";

    /// Returns the account of two CPUs `after_s` seconds after `start`, at 100 jiffies per second.
    fn activity(start: Instant, after_s: u64, own_ms: u64, idle: [u64; 2], steal: u64) -> Activity {
        let line = |idle, steal| Jiffies { idle, steal, ..Jiffies::default() };
        Activity {
            at: start + Duration::from_secs(after_s),
            own: Duration::from_millis(own_ms),
            cpus: BTreeMap::from([(0, line(idle[0], steal)), (1, line(idle[1], 0))]),
            jiffies_per_s: 100.0,
        }
    }

    fn cpus(list: &str) -> CpuSet {
        list.parse().unwrap()
    }

    #[test]
    fn lines_of_single_cpus_are_read_and_the_sum_is_not() {
        let cpus = parse_stat(STAT);
        assert_eq!(cpus.len(), 2);
        assert_eq!(cpus[&0], Jiffies { idle: 145_266, interrupt: 9, steal: 3 });
    }

    #[test]
    fn the_parts_sum_to_all_of_the_time() {
        let start = Instant::now();
        let before = activity(start, 0, 0, [0, 0], 0);
        let after = activity(start, 1, 500, [100, 20], 10);
        let share = after.since(&before, &cpus("0-1")).unwrap();
        assert!((share.own_share - 0.25).abs() < 1e-9, "{share:?}");
        assert!((share.steal_share - 0.05).abs() < 1e-9, "{share:?}");
        assert!((share.idle_share - 0.60).abs() < 1e-9, "{share:?}");
        assert!((share.other_share - 0.10).abs() < 1e-9, "{share:?}");
        assert!((share.resolution_share - 0.005).abs() < 1e-9, "{share:?}");
    }

    #[test]
    fn only_the_requested_cpus_count() {
        let start = Instant::now();
        let before = activity(start, 0, 0, [0, 0], 0);
        let share = activity(start, 1, 800, [100, 20], 0).since(&before, &cpus("1,7")).unwrap();
        assert!((share.own_share - 0.8).abs() < 1e-9 && (share.idle_share - 0.2).abs() < 1e-9, "{share:?}");
        assert!(share.other_share < 1e-9, "{share:?}");
    }

    #[test]
    fn no_time_or_no_cpu_has_no_shares() {
        let start = Instant::now();
        let (before, after) = (activity(start, 0, 0, [0, 0], 0), activity(start, 1, 0, [9, 9], 0));
        assert_eq!(before.since(&before, &cpus("0")), None);
        assert_eq!(after.since(&before, &cpus("5")), None);
        assert_eq!(before.since(&after, &cpus("0")), None);
    }

    #[test]
    fn counter_that_runs_backwards_counts_as_zero() {
        let start = Instant::now();
        let share = activity(start, 1, 0, [4, 0], 0).since(&activity(start, 0, 0, [5, 0], 0), &cpus("0")).unwrap();
        assert_eq!(share.idle_share, 0.0);
    }
}
