//! The CPU time that the control groups of processes allow.

use std::collections::HashMap;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The limits of the control groups that have one, in CPUs, by process.
#[derive(Debug, Default)]
pub struct Quotas(HashMap<u32, Option<(PathBuf, f64)>>);

/// Processes whose limits are kept.
const MOST_PROCESSES: usize = 4_096;

impl Quotas {
    /// Reads the limit of a process, which can be changed later.
    pub fn learn(&mut self, process: u32) {
        if self.0.len() < MOST_PROCESSES
            && let Ok(groups) = read_to_string(format!("/proc/{process}/cgroup"))
        {
            self.0.insert(process, limit_of(&groups, Path::new("/sys/fs/cgroup")));
        }
    }

    /// Returns the number of CPUs that all processes together may use; `None` if one of them has no limit.
    pub fn cpus(&self) -> Option<f64> {
        let mut groups: HashMap<&Path, f64> = HashMap::new();
        for limit in self.0.values() {
            let (group, cpus) = limit.as_ref()?;
            groups.insert(group, *cpus);
        }
        (!groups.is_empty()).then(|| groups.values().sum())
    }
}

/// Returns the smallest limit of a process's group and of those around it, with the group that has it.
fn limit_of(groups: &str, root: &Path) -> Option<(PathBuf, f64)> {
    let limits = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let base = match controllers {
            "" => vec![root.to_owned(), root.join("unified")],
            _ if controllers.split(',').any(|name| name == "cpu") => vec![root.join(controllers), root.join("cpu")],
            _ => Vec::new(),
        };
        Some(base.into_iter().map(|base| (base.clone(), base.join(path.trim_start_matches('/')))))
    });
    let around = limits.flatten().flat_map(|(base, group)| {
        let inside = move |group: &&Path| group.starts_with(&base);
        group.ancestors().take_while(inside).map(Path::to_owned).collect::<Vec<_>>()
    });
    around.filter_map(|group| limit(&group).map(|cpus| (group, cpus))).min_by(|one, other| one.1.total_cmp(&other.1))
}

/// Returns the limit of one group: `cpu.max` of version 2 has both numbers, version 1 a file for each.
fn limit(group: &Path) -> Option<f64> {
    let number = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<f64>().ok();
    let (quota, period) = match read_to_string(group.join("cpu.max")) {
        Ok(both) => {
            let (quota, period) = both.trim().split_once(' ')?;
            (quota.parse().ok()?, period.parse().ok()?)
        }
        Err(_) => (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?),
    };
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    #[test]
    fn smallest_limit_around_a_process_counts_in_both_versions() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str, text: &str| {
            create_dir_all(root.path().join(name).parent().unwrap()).unwrap();
            write(root.path().join(name), text).unwrap();
        };
        at("pods/cpu.max", "150000 100000\n");
        at("pods/one/cpu.max", "max 100000\n");
        let limit = limit_of("0::/pods/one\n", root.path());
        assert_eq!(limit, Some((root.path().join("pods"), 1.5)));
        at("cpu,cpuacct/docker/cpu.cfs_quota_us", "50000\n");
        at("cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
        let old = limit_of("4:cpu,cpuacct:/docker\n3:cpuset:/docker\n0::/\n", root.path());
        assert_eq!(old.map(|(_, cpus)| cpus), Some(0.5));
        at("cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n");
        assert_eq!(limit_of("4:cpu,cpuacct:/docker\n", root.path()), None, "no limit");
        assert_eq!(limit_of("0::/../../elsewhere\n", root.path()), None);
    }

    #[test]
    fn processes_of_one_group_share_its_limit() {
        let limit = |group: &str, cpus| Some((PathBuf::from(group), cpus));
        let quotas = Quotas([(1, limit("a", 2.0)), (2, limit("a", 2.0)), (3, limit("b", 0.5))].into());
        assert_eq!(quotas.cpus(), Some(2.5));
        let free = Quotas([(1, limit("a", 2.0)), (2, None)].into());
        assert_eq!((free.cpus(), Quotas::default().cpus()), (None, None));
    }
}
