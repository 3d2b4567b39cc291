//! State of the machine and of the program that a record came from, which Git does not store.
//!
//! Git stores content, and of a file's mode only whether it is executable. The manifest has the other properties that a
//! value depends on: the kernel's command line and settings, the control group, and the packages; and of the program
//! its hash, mode, owner, time and extended attributes (a capability is one, and decides what can be measured).
//! Packages come from the lists of the tools of Debian and Alpine.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

/// The version of the manifest's layout.
const SCHEMA: &str = "contend-manifest/1";

/// The state that was noted with a record.
///
/// A value that could not be read is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: String,
    /// The host name.
    pub host: String,
    /// The boot ID, which distinguishes runs before and after a restart.
    pub boot_id: Option<String>,
    /// The output of `uname -r` and `uname -v`.
    pub kernel: String,
    /// The command line of the kernel.
    pub kernel_command_line: Option<String>,
    /// Settings of the kernel and the CPUs that a value may depend on, by path.
    pub settings: BTreeMap<String, String>,
    /// The control groups of the process, as `/proc/self/cgroup` has them, and their limits, by path.
    pub cgroups: Vec<String>,
    pub cgroup_limits: BTreeMap<String, String>,
    /// Versions of the packages that the program was built with or runs on, by package.
    pub packages: BTreeMap<String, String>,
    pub build: Build,
    pub program: Option<FileState>,
}

impl Manifest {
    /// Reads the whole manifest, for a program that was built with `build`.
    ///
    /// `hash_of` returns what identifies a file's content.
    pub fn of_this_run(build: Build, hash_of: impl Fn(&Path) -> Option<String>) -> Self {
        let name = rustix::system::uname();
        let word = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let cgroups: Vec<String> = word("/proc/self/cgroup").unwrap_or_default().lines().map(str::to_owned).collect();
        Self {
            schema: SCHEMA.to_owned(),
            host: name.nodename().to_string_lossy().into_owned(),
            boot_id: word("/proc/sys/kernel/random/boot_id"),
            kernel: format!("{} {}", name.release().to_string_lossy(), name.version().to_string_lossy()),
            kernel_command_line: word("/proc/cmdline"),
            settings: settings(Path::new("/")),
            cgroup_limits: limits(Path::new("/sys/fs/cgroup"), &cgroups),
            cgroups,
            packages: packages(Path::new("/")),
            build,
            program: std::env::current_exe().ok().and_then(|path| FileState::of(&path, hash_of(&path)).ok()),
        }
    }
}

/// The build of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The revision of the sources, with a `+` if they had been changed; absent for sources without a repository.
    pub revision: Option<String>,
    /// The output of `rustc --version`.
    pub compiler: Option<String>,
    /// `release` or `debug`.
    pub profile: Option<String>,
    pub target: Option<String>,
}

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

/// Returns the limits that are set in the groups of `lines`, which have the format of `/proc/self/cgroup`, below
/// `mounted`.
fn limits(mounted: &Path, lines: &[String]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for line in lines {
        let [_, controllers, path] = line.splitn(3, ':').collect::<Vec<_>>()[..] else { continue };
        // Version 2 has no controllers in its line, and may be mounted next to version 1.
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

/// The state of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileState {
    pub path: String,
    /// Its build ID after `build-id:`, or the hash that Git gives to its content if it has none.
    pub hash: Option<String>,
    pub bytes: u64,
    /// The mode in octal, with the type: `100755`.
    pub mode: String,
    pub user_id: u32,
    pub group_id: u32,
    /// The time of the last write, in seconds and nanoseconds since 1970.
    pub modified_unix_s: i64,
    pub modified_ns: i64,
    /// The extended attributes by name, their bytes in hexadecimal.
    pub extended_attributes: BTreeMap<String, String>,
}

impl FileState {
    /// Reads the state of a file with this hash.
    ///
    /// # Errors
    /// The file cannot be examined.
    pub fn of(path: &Path, hash: Option<String>) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self {
            path: path.display().to_string(),
            hash,
            bytes: found.len(),
            mode: format!("{:o}", found.mode()),
            user_id: found.uid(),
            group_id: found.gid(),
            modified_unix_s: found.mtime(),
            modified_ns: found.mtime_nsec(),
            // A file system without extended attributes reports an error.
            extended_attributes: extended_attributes(path).unwrap_or_default(),
        })
    }
}

/// The kernel's limits of a list of names and of a value (`XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const LARGEST: usize = 65_536;

fn extended_attributes(path: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut names = vec![0_u8; LARGEST];
    let length = rustix::fs::listxattr(path, &mut names)?;
    let mut found = BTreeMap::new();
    for name in names[..length].split_inclusive(|&byte| byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
        let mut value = vec![0_u8; LARGEST];
        if let Ok(length) = rustix::fs::getxattr(path, name, &mut value) {
            let digits: String = value[..length].iter().map(|byte| format!("{byte:02x}")).collect();
            found.insert(name.to_string_lossy().into_owned(), digits);
        }
    }
    Ok(found)
}

/// Compilers, runtimes and libraries whose code is measured or measures; a name may continue with a version (`gcc-12`).
const PACKAGES: &[&str] = &[
    "binutils",
    "cargo",
    "clang",
    "erlang-base",
    "g++",
    "gcc",
    "ghc",
    "golang",
    "golang-go",
    "libabsl-dev",
    "libc6",
    "libck-dev",
    "libgcc-s1",
    "libnsync-dev",
    "libstdc++6",
    "musl",
    "nodejs",
    "ocaml",
    "openjdk-17-jdk-headless",
    "openjdk-21-jdk-headless",
    "python3",
    "rustc",
];

/// Returns the packages that are installed below `root`; none where no such list can be read.
fn packages(root: &Path) -> BTreeMap<String, String> {
    let list = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let debian = versions(&list("var/lib/dpkg/status"), "Package: ", "Version: ");
    debian.into_iter().chain(versions(&list("lib/apk/db/installed"), "P:", "V:")).collect()
}

/// Parses a list of paragraphs, each with a line of the name and, after it, a line of the version.
fn versions(list: &str, name_mark: &str, version_mark: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for paragraph in list.split("\n\n") {
        let field = |mark: &str| paragraph.lines().find_map(|line| line.strip_prefix(mark));
        if let (Some(name), Some(version)) = (field(name_mark).filter(|name| is_wanted(name)), field(version_mark)) {
            found.push((name.to_owned(), version.to_owned()));
        }
    }
    found
}

fn is_wanted(name: &str) -> bool {
    let stem =
        name.rsplit_once('-').filter(|(_, version)| version.parse::<f64>().is_ok()).map_or(name, |(stem, _)| stem);
    PACKAGES.contains(&name) || PACKAGES.contains(&stem)
}

/// Paths without a leading slash.
///
/// A `*` matches any CPU; its values are joined where they differ.
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

/// Returns the settings that exist below `root`.
fn settings(root: &Path) -> BTreeMap<String, String> {
    let known = |path: &&str| Some((format!("/{path}"), setting(root, path)?));
    PATHS.iter().filter_map(known).collect()
}

fn setting(root: &Path, path: &str) -> Option<String> {
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
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn limits_of_both_cgroup_versions_are_found() {
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

    #[test]
    fn mode_owner_time_and_attributes_are_noted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o640)).unwrap();
        let set = rustix::fs::setxattr(file.path(), "user.colour", b"red", rustix::fs::XattrFlags::CREATE);
        let state = FileState::of(file.path(), None).unwrap();
        assert_eq!(state.mode, "100640");
        assert_eq!(state.user_id, rustix::process::geteuid().as_raw());
        assert!(state.modified_unix_s > 1_600_000_000);
        match set {
            Ok(()) => assert_eq!(state.extended_attributes["user.colour"], "726564"),
            Err(_) => println!("skipped: needs a file system with extended attributes"),
        }
    }

    #[test]
    fn listed_packages_are_found_with_their_versions() {
        let list = "Package: gcc-12\nStatus: install ok installed\nVersion: 12.2.0-14\n\nPackage: vim\nVersion: 9\n\n\
                    Package: libc6\nVersion: 2.36-9\nDescription: x\n Version: not this\n";
        let found = versions(list, "Package: ", "Version: ");
        let pair = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        assert_eq!(found, [pair("gcc-12", "12.2.0-14"), pair("libc6", "2.36-9")]);
    }

    #[test]
    fn different_values_of_cpus_are_joined() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, governor) in [("cpu0", "performance"), ("cpu1", "powersave"), ("cpu2", "performance")] {
            let folder = root.path().join("sys/devices/system/cpu").join(cpu).join("cpufreq");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("scaling_governor"), governor.to_owned() + "\n").unwrap();
        }
        let found = settings(root.path());
        let path = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [(path.to_owned(), "performance, powersave".to_owned())]);
    }
}
