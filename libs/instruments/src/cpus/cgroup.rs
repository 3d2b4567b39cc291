//! The CPU time that the control groups grant, in either version of the hierarchy.
//!
//! A limit on a group applies to all groups below it. The hierarchy is therefore searched from the group of this
//! process up to its mount point, and the smallest limit counts. Groups above the mount point (outside a container)
//! are invisible, so a limit set there is missed.

use std::path::{Component, Path, PathBuf};

use super::files;

/// Returns the number of CPUs whose time the control groups grant this process (2.5 is two and a half CPUs), or
/// `None` if they set no limit or cannot be read.
///
/// The source is `cpu.max` (version 2) or `cpu.cfs_quota_us` and `cpu.cfs_period_us` (version 1). A process that uses
/// more is stopped until the end of its period, usually 100 ms, however many CPUs it has.
///
/// # Examples
///
/// ```
/// if let Some(cpus) = instruments::cpus::cpu_quota() {
///     assert!(cpus > 0.0);
/// }
/// ```
pub fn cpu_quota() -> Option<f64> {
    CpuGroup::find(Path::new("/"))?.quota_cpus()
}

/// Returns the control group that limits the CPU time of a process, and the limit in CPUs.
///
/// It is `None` if there is no limit, or if it cannot be read.
///
/// The path is that of the group in this process's view of the hierarchy: processes with equal paths share the limit.
///
/// # Examples
///
/// ```
/// let quota = instruments::cpus::cpu_quota_of(std::process::id());
/// assert_eq!(quota.map(|(_, cpus)| cpus), instruments::cpus::cpu_quota());
/// ```
pub fn cpu_quota_of(process: u32) -> Option<(PathBuf, f64)> {
    CpuGroup::of(Path::new("/"), &process.to_string())?.quota()
}

/// The control group that limits this process's CPU time.
#[derive(Debug, PartialEq)]
pub(crate) struct CpuGroup {
    /// Version of the hierarchy: 1 or 2.
    pub version: u8,
    /// Mount point of the hierarchy.
    mount: PathBuf,
    /// Group of the process: `mount` or below it.
    own: PathBuf,
}

impl CpuGroup {
    /// Finds the group from `/proc/self/cgroup` and `/proc/self/mountinfo` below `root`.
    pub fn find(root: &Path) -> Option<Self> {
        Self::of(root, "self")
    }

    /// Finds the group of a process, by its name in `/proc`.
    fn of(root: &Path, process: &str) -> Option<Self> {
        let groups = files::text(root, &format!("proc/{process}/cgroup"))?;
        let mounts = files::text(root, "proc/self/mountinfo")?;
        let (version, group) = group_path(&groups, &mounts)?;
        let (inside, at) = mount_of(&mounts, version)?;
        let mount = root.join(at.trim_start_matches('/'));
        Some(Self { version, own: mount.join(below_mount(group, &inside)), mount })
    }

    /// Returns the smallest quota from the group of the process up to the mount point, in CPUs.
    pub fn quota_cpus(&self) -> Option<f64> {
        self.quota().map(|(_, cpus)| cpus)
    }

    fn quota(&self) -> Option<(PathBuf, f64)> {
        let groups = self.own.ancestors().take_while(|group| group.starts_with(&self.mount));
        let quotas = groups.filter_map(|group| Some((group.to_owned(), self.quota_of(group)?)));
        quotas.min_by(|one, other| one.1.total_cmp(&other.1))
    }

    fn quota_of(&self, group: &Path) -> Option<f64> {
        match self.version {
            2 => parse_cpu_max(&files::text(group, "cpu.max")?),
            _ => quota_from(files::number(group, "cpu.cfs_quota_us")?, files::number(group, "cpu.cfs_period_us")?),
        }
    }

    /// Returns the weight of the group relative to its sibling groups: version 2's `cpu.weight` (1 to 10,000, 100 by
    /// default).
    pub fn weight(&self) -> Option<u64> {
        files::number(&self.own, "cpu.weight")
    }

    /// Returns the weight of the group relative to its sibling groups: version 1's `cpu.shares` (1,024 by default).
    pub fn shares(&self) -> Option<u64> {
        files::number(&self.own, "cpu.shares")
    }

    /// Returns the time in nanoseconds for which the group and those above it were stopped because they had used
    /// their quotas: `cpu.stat`.
    pub fn throttled_ns(&self) -> Option<u64> {
        let groups = self.own.ancestors().take_while(|group| group.starts_with(&self.mount));
        groups.filter_map(|group| parse_throttled(&files::text(group, "cpu.stat")?)).reduce(|a, b| a + b)
    }

    /// Returns version 1's `cpu.rt_runtime_us`: the time for which real-time threads of the group may run in each
    /// period, in µs. 0 means that they may not run.
    pub fn rt_runtime_us(&self) -> Option<i64> {
        files::number(&self.own, "cpu.rt_runtime_us")
    }
}

/// Returns the version and path of the group of this process: version 1's `cpu` controller if it is mounted,
/// otherwise version 2's.
///
/// A line is `hierarchy:controllers:path`; version 2's has no controllers.
fn group_path<'a>(groups: &'a str, mounts: &str) -> Option<(u8, &'a str)> {
    let path_where = |matches: &dyn Fn(&str) -> bool| {
        let lines = groups.lines().map(|line| line.splitn(3, ':').skip(1));
        let mut pairs = lines.filter_map(|mut fields| Some((fields.next()?, fields.next()?)));
        pairs.find(|(controllers, _)| matches(controllers)).map(|(_, path)| path)
    };
    let version_1 = path_where(&|controllers| controllers.split(',').any(|name| name == "cpu"));
    match version_1 {
        Some(path) if mount_of(mounts, 1).is_some() => Some((1, path)),
        _ => path_where(&str::is_empty).map(|path| (2, path)),
    }
}

/// Returns the mounted group and the mount point of the hierarchy that has the CPU controller.
///
/// A line is `id parent device root mount-point options [tags] - type source super-options`.
fn mount_of(mounts: &str, version: u8) -> Option<(String, String)> {
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let (fs, options) = (kind.next()?, kind.nth(1)?);
        let matches = match version {
            2 => fs == "cgroup2",
            _ => fs == "cgroup" && options.split(',').any(|option| option == "cpu"),
        };
        let mut place = place.split(' ').skip(3);
        let (inside, at) = (place.next()?, place.next()?);
        matches.then(|| (unescape(inside), unescape(at)))
    })
}

/// Replaces `\040`, as which the kernel writes a space in a path. The other escapes do not occur in the usual mount
/// points of groups.
fn unescape(path: &str) -> String {
    path.replace("\\040", " ")
}

/// Returns the group as a path below the mount point.
///
/// A container often mounts its own group as the root of the visible hierarchy, while `/proc/self/cgroup` shows the
/// path from the machine's root. The common prefix is then removed. A group outside the mounted hierarchy maps to the
/// mount point.
fn below_mount(group: &str, inside: &str) -> PathBuf {
    let below = Path::new(group).strip_prefix(inside).unwrap_or(Path::new(""));
    let downwards_only = below.components().all(|part| matches!(part, Component::Normal(_)));
    if downwards_only { below.to_owned() } else { PathBuf::new() }
}

/// Parses `max 100000` or `150000 100000`: µs of CPU time per period, and the length of a period in µs.
fn parse_cpu_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    quota_from(quota.parse().ok()?, period.parse().ok()?)
}

/// Parses `throttled_usec 12` (version 2) or `throttled_time 12000` (version 1, in ns). Groups without a quota may
/// have neither.
fn parse_throttled(text: &str) -> Option<u64> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
    value("throttled_usec ").map(|us| us * 1_000).or_else(|| value("throttled_time "))
}

/// Returns the quota in CPUs; a quota below 0 is version 1's "no limit".
fn quota_from(quota_us: i64, period_us: i64) -> Option<f64> {
    (quota_us > 0 && period_us > 0).then(|| quota_us as f64 / period_us as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2_MOUNTS: &str = "24 30 0:22 / /sys rw - sysfs sysfs rw\n\
        31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
    const V1_MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro master:11 - cgroup cgroup rw,cpu,cpuacct\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";

    #[test]
    fn version_2_is_found_without_version_1() {
        let groups = "0::/user.slice/user-1000.slice/session.scope";
        assert_eq!(group_path(groups, V2_MOUNTS), Some((2, "/user.slice/user-1000.slice/session.scope")));
        assert_eq!(mount_of(V2_MOUNTS, 2), Some(("/".to_owned(), "/sys/fs/cgroup".to_owned())));
    }

    #[test]
    fn version_1_comes_first_on_a_hybrid() {
        let groups = "9:name=systemd:/x\n3:cpuset:/x\n2:cpu,cpuacct:/docker/abc/child\n0::/x";
        assert_eq!(group_path(groups, V1_MOUNTS), Some((1, "/docker/abc/child")));
        let mount = ("/docker/abc".to_owned(), "/sys/fs/cgroup/cpu,cpuacct".to_owned());
        assert_eq!(mount_of(V1_MOUNTS, 1), Some(mount));
    }

    #[test]
    fn a_group_is_placed_below_its_mount() {
        assert_eq!(below_mount("/docker/abc/child", "/docker/abc"), Path::new("child"));
        assert_eq!(below_mount("/docker/abc", "/"), Path::new("docker/abc"));
        assert_eq!(below_mount("/elsewhere", "/docker/abc"), Path::new(""));
        // The path of a group outside the cgroup namespace of this process.
        assert_eq!(below_mount("/../other", "/"), Path::new(""));
    }

    #[test]
    fn quotas_of_both_versions() {
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cpu_max("150000 100000\n"), Some(1.5));
        assert_eq!(parse_cpu_max("garbage"), None);
        assert_eq!(quota_from(-1, 100_000), None);
        assert_eq!(quota_from(50_000, 100_000), Some(0.5));
        assert_eq!(quota_from(50_000, 0), None);
    }

    #[test]
    fn throttled_time_of_both_versions() {
        assert_eq!(parse_throttled("usage_usec 7\nnr_throttled 2\nthrottled_usec 1500\n"), Some(1_500_000));
        assert_eq!(parse_throttled("nr_periods 9\nnr_throttled 2\nthrottled_time 1500\n"), Some(1_500));
        assert_eq!(parse_throttled("usage_usec 7\n"), None);
    }
}
