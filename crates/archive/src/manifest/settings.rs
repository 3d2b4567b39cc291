//! Settings of the kernel and of the CPUs that move a figure.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Paths without a leading slash. A `*` stands for any CPU; its values are put together where they differ.
const PATHS: &[&str] = &[
    "proc/sys/kernel/numa_balancing",
    "proc/sys/kernel/nmi_watchdog",
    "proc/sys/kernel/perf_event_paranoid",
    "proc/sys/kernel/randomize_va_space",
    "proc/sys/kernel/sched_autogroup_enabled",
    "proc/sys/kernel/sched_cfs_bandwidth_slice_us",
    "proc/sys/kernel/sched_energy_aware",
    "proc/sys/kernel/sched_rr_timeslice_ms",
    "proc/sys/kernel/sched_rt_period_us",
    "proc/sys/kernel/sched_rt_runtime_us",
    "proc/sys/kernel/sched_schedstats",
    "proc/sys/kernel/sched_util_clamp_min",
    "proc/sys/kernel/timer_migration",
    "proc/sys/kernel/watchdog",
    "proc/sys/kernel/watchdog_thresh",
    "proc/sys/vm/compaction_proactiveness",
    "proc/sys/vm/overcommit_memory",
    "proc/sys/vm/stat_interval",
    "proc/sys/vm/swappiness",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_min_freq",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/cpuidle/current_driver",
    "sys/devices/system/cpu/cpuidle/current_governor_ro",
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/nohz_full",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/smt/control",
    "sys/devices/virtual/workqueue/cpumask",
    "sys/kernel/mm/ksm/run",
    "sys/kernel/mm/transparent_hugepage/defrag",
    "sys/kernel/mm/transparent_hugepage/enabled",
];

/// Those that exist below `root`.
pub fn read(root: &Path) -> BTreeMap<String, String> {
    let known = |path: &&str| Some((format!("/{path}"), value(root, path)?));
    PATHS.iter().filter_map(known).collect()
}

fn value(root: &Path, path: &str) -> Option<String> {
    let Some((folder, file)) = path.split_once("cpu*/") else { return word(&root.join(path)) };
    let cpus = fs::read_dir(root.join(folder)).ok()?.filter_map(Result::ok);
    let values: BTreeSet<String> = cpus.filter_map(|cpu| word(&cpu.path().join(file))).collect();
    Some(values.into_iter().collect::<Vec<_>>().join(", ")).filter(|values| !values.is_empty())
}

fn word(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_cpus_are_put_together() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, governor) in [("cpu0", "performance"), ("cpu1", "powersave"), ("cpu2", "performance")] {
            let folder = root.path().join("sys/devices/system/cpu").join(cpu).join("cpufreq");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("scaling_governor"), governor.to_owned() + "\n").unwrap();
        }
        let found = read(root.path());
        let path = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [(path.to_owned(), "performance, powersave".to_owned())]);
    }
}
