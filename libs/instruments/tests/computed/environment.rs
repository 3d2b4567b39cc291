//! The environment of simulated machines.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use instruments::cpus::CpuSet;
use instruments::environment::{CacheKind, Environment};

/// A tree of files that looks like the root of another machine.
struct Machine(PathBuf);

impl Machine {
    fn with(files: &[(&str, &str)]) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("instruments-environment-{}-{number}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn environment(&self) -> Environment {
        Environment::probe_under(&self.0)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn set(list: &str) -> CpuSet {
    list.parse().unwrap()
}

/// A workstation: two cores of two threads, control groups version 2, one group above limited to 1.5 CPUs.
const WORKSTATION: &[(&str, &str)] = &[
    ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU\nmicrocode\t: 0x12\nflags\t\t: fpu tsc\n"),
    ("proc/sys/kernel/arch", "x86_64\n"),
    ("proc/thread-self/status", "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t0-2\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/smt/active", "1\n"),
    ("sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0,2\n"),
    ("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3\n"),
    ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
    ("sys/devices/system/cpu/cpu1/topology/physical_package_id", "0\n"),
    ("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
    ("sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"),
    ("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n"),
    ("sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list", "0,2\n"),
    ("sys/devices/system/cpu/cpu0/cache/index1/level", "3\n"),
    ("sys/devices/system/cpu/cpu0/cache/index1/type", "Unified\n"),
    ("sys/devices/system/cpu/cpu0/cache/index1/size", "32768K\n"),
    ("sys/devices/system/cpu/cpu0/cache/index1/shared_cpu_list", "0-3\n"),
    ("sys/devices/system/cpu/cpu1/cache/index0/level", "1\n"),
    ("sys/devices/system/cpu/cpu1/cache/index0/type", "Data\n"),
    ("sys/devices/system/cpu/cpu1/cache/index0/size", "48K\n"),
    ("sys/devices/system/cpu/cpu1/cache/index0/shared_cpu_list", "1,3\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate\n"),
    ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
    ("sys/devices/system/cpu/isolated", "\n"),
    ("sys/devices/system/cpu/nohz_full", "(null)\n"),
    ("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n"),
    ("sys/devices/system/cpu/vulnerabilities/retbleed", "Not affected\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("proc/sys/kernel/osrelease", "6.12.1-amd64\n"),
    ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1\n"),
    ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
    ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
    ("proc/sys/kernel/sched_autogroup_enabled", "1\n"),
    ("proc/cmdline", "quiet\n"),
    ("boot/config-6.12.1-amd64", "CONFIG_HZ=250\nCONFIG_NO_HZ_FULL=y\nCONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n"),
    ("proc/meminfo", "MemTotal:       16384000 kB\n"),
    ("proc/loadavg", "0.20 0.18 0.12 1/80 11206\n"),
    ("proc/self/limits", "Max locked memory         8388608  8388608  bytes\nMax realtime priority     95  95\n"),
    ("proc/self/cgroup", "0::/a/b\n"),
    ("proc/self/mountinfo", "31 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
    ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
    ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
    ("sys/fs/cgroup/a/b/cpu.weight", "79\n"),
];

#[test]
fn processor_of_a_workstation() {
    let cpu = Machine::with(WORKSTATION).environment().cpu;
    assert_eq!(cpu.model.as_deref(), Some("Some CPU"));
    assert_eq!(cpu.architecture, "x86_64");
    assert_eq!((cpu.online, cpu.allowed), (Some(set("0-3")), Some(set("0-2"))));
    assert_eq!(cpu.cores, [set("0,2"), set("1,3")]);
    assert_eq!((cpu.threads_per_core, cpu.smt_active, cpu.sockets), (Some(2), Some(true), Some(1)));
    assert_eq!(cpu.governor.as_deref(), Some("performance,powersave"));
    assert_eq!(cpu.frequency_driver.as_deref(), Some("intel_pstate"));
    assert_eq!(cpu.boost, Some(true));
    assert_eq!(cpu.caches.len(), 2);
    assert_eq!((cpu.caches[0].kind, cpu.caches[0].size_kib), (CacheKind::Data, Some(48)));
    assert_eq!(cpu.caches[0].shared_by, [set("0,2"), set("1,3")]);
    assert_eq!((cpu.caches[1].level, cpu.caches[1].size_kib), (3, Some(32_768)));
}

#[test]
fn kernel_of_a_workstation() {
    let kernel = Machine::with(WORKSTATION).environment().kernel;
    assert_eq!(kernel.release.as_deref(), Some("6.12.1-amd64"));
    assert_eq!(
        (kernel.hz, kernel.preemption.as_deref(), kernel.tickless.as_deref()),
        (Some(250), Some("full"), Some("full"))
    );
    assert_eq!((kernel.tickless_cpus, kernel.isolated_cpus), (Some(set("")), Some(set(""))));
    assert_eq!(kernel.mitigations["meltdown"], "Mitigation: PTI");
    assert_eq!(kernel.mitigations.len(), 2);
    assert_eq!(kernel.clock_source.as_deref(), Some("tsc"));
    assert_eq!(kernel.clock_sources_available, ["tsc", "hpet", "acpi_pm"]);
    assert_eq!((kernel.rt_runtime_us, kernel.rt_period_us, kernel.autogroup), (Some(-1), Some(1_000_000), Some(true)));
    assert_eq!(kernel.transparent_hugepages.as_deref(), Some("madvise"));
}

#[test]
fn limits_and_surroundings_of_a_workstation() {
    let Environment { limits, host, load, .. } = Machine::with(WORKSTATION).environment();
    assert_eq!((limits.cgroup_version, limits.cpu_quota_cpus), (Some(2), Some(1.5)), "the limit is one group up");
    assert_eq!((limits.cpu_weight, limits.cpu_shares), (Some(79), None));
    assert_eq!((limits.realtime_priority_max, limits.locked_memory_kib), (Some(95), Some(8192)));
    assert_eq!((host.memory_mib, host.hypervisor, host.container_hint), (Some(16_000), None, None));
    assert_eq!((load.average_1min, load.running_tasks), (Some(0.2), Some(1)));
}

#[test]
fn arm_machine_in_a_container_with_version_1_groups() {
    let machine = Machine::with(&[
        ("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"),
        ("proc/sys/kernel/arch", "aarch64\n"),
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
        ("sys/class/dmi/id/product_name", "c7g.large\n"),
        (".dockerenv", ""),
        ("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n"),
        (
            "proc/self/mountinfo",
            "40 31 0:30 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n",
        ),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.shares", "512\n"),
    ]);
    let Environment { cpu, host, limits, kernel, .. } = machine.environment();
    assert_eq!((cpu.model.as_deref(), cpu.architecture.as_str()), (Some("Arm part 0xd40"), "aarch64"));
    assert_eq!((host.hypervisor.as_deref(), host.container_hint.as_deref()), (Some("KVM"), Some("docker")));
    assert_eq!((limits.cgroup_version, limits.cpu_quota_cpus, limits.cpu_shares), (Some(1), Some(0.5), Some(512)));
    assert_eq!((kernel.hz, kernel.preemption), (None, None));
}

#[test]
fn machine_without_files_still_has_an_environment() {
    let environment = Machine::with(&[]).environment();
    assert_eq!(environment.cpu.architecture, std::env::consts::ARCH);
    assert_eq!((environment.cpu.model, environment.kernel.release, environment.host.memory_mib), (None, None, None));
    assert!(environment.cpu.caches.is_empty() && environment.kernel.mitigations.is_empty());
}

#[test]
fn garbage_in_every_file_is_survived() {
    let garbage: Vec<(&str, &str)> =
        WORKSTATION.iter().map(|(path, _)| (*path, ":- ( [ \u{7f} 9999999999999999999999")).collect();
    let environment = Machine::with(&garbage).environment();
    assert_eq!((environment.cpu.online, environment.limits.cpu_quota_cpus, environment.kernel.hz), (None, None, None));
}

#[test]
fn the_preemption_chosen_at_boot_or_since_wins() {
    let boot = ("proc/cmdline", "quiet preempt=none");
    let config = ("boot/config-1", "CONFIG_PREEMPT=y\n");
    let release = ("proc/sys/kernel/osrelease", "1\n");
    let running = ("sys/kernel/debug/sched/preempt", "none (voluntary) full lazy\n");
    let preemption = |files: &[(&str, &str)]| Machine::with(files).environment().kernel.preemption;
    assert_eq!(preemption(&[release, config]).as_deref(), Some("full"));
    assert_eq!(preemption(&[release, config, boot]).as_deref(), Some("none"));
    assert_eq!(preemption(&[release, config, boot, running]).as_deref(), Some("voluntary"));
}
