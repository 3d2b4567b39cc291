//! The kernel's own accounts of a CPU's time: the tick's, and the exact one where there is one that can be read.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// What the tick saw of each CPU: the busy fields of `/proc/stat` (user, nice, system, interrupts and soft interrupts),
/// in nanoseconds. Idle, waiting for a disk and stolen are not busy; a guest's time is part of user.
///
/// Empty when the file cannot be read.
pub fn busy_by_tick_ns() -> BTreeMap<usize, u64> {
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
    // The first line, `cpu`, is the sum of all: its first field is no CPU's number, so it is told by the space.
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

    /// What it is called in a record.
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
