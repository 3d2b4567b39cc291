//! The limits of the control groups that a process is in.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const LIMITS: &[&str] = &[
    "cpu.max",
    "cpu.weight",
    "cpu.idle",
    "cpu.uclamp.min",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpu.shares",
    "cpuset.cpus",
    "cpuset.cpus.effective",
    "cpuset.cpus.partition",
    "memory.max",
    "memory.high",
];

/// The limits that are set in the groups of `lines`, which are as in `/proc/self/cgroup`, below `mounted`.
pub fn limits(mounted: &Path, lines: &[String]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for line in lines {
        let [_, controllers, path] = line.splitn(3, ':').collect::<Vec<_>>()[..] else { continue };
        // Version 2 has no controllers in its line, and may be mounted beside version 1.
        let tops: &[&str] = if controllers.is_empty() { &["", "unified"] } else { &[controllers] };
        for top in tops {
            let folder = mounted.join(top).join(path.trim_start_matches('/'));
            for limit in LIMITS {
                let file = folder.join(limit);
                if let Ok(value) = fs::read_to_string(&file) {
                    found.insert(file.display().to_string(), value.trim().to_owned());
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_found_where_they_are_mounted() {
        let root = tempfile::tempdir().unwrap();
        for (folder, file, value) in [("user/me", "cpu.max", "max 100000"), ("cpu,cpuacct/jobs", "cpu.shares", "1024")]
        {
            fs::create_dir_all(root.path().join(folder)).unwrap();
            fs::write(root.path().join(folder).join(file), value.to_owned() + "\n").unwrap();
        }
        let lines = ["0::/user/me".to_owned(), "3:cpu,cpuacct:/jobs".to_owned(), "garbage".to_owned()];
        let values: Vec<String> = limits(root.path(), &lines).into_values().collect();
        assert_eq!(values, ["1024", "max 100000"]);
    }
}
