//! What Git forgets: the state of the machine and of the program that a record came from.
//!
//! Git keeps content, and of a file's nature only whether it may be executed. What a figure depends on beside the
//! record itself is written down here: how the kernel was started and set, the control group, the packages, and of the
//! program its hash, mode, owner, time and extended attributes (a capability is one, and decides what can be measured).

mod build;
mod cgroup;
mod file;
mod packages;
mod settings;

pub use build::Build;
pub use file::FileState;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The version of its layout.
const SCHEMA: &str = "contend-manifest/1";

/// What was noted beside a record. What could not be read is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: String,
    /// The machine's own name.
    pub host: String,
    /// Told apart from a run before a restart.
    pub boot_id: Option<String>,
    /// As `uname -r` and `uname -v`.
    pub kernel: String,
    /// What the kernel was started with.
    pub kernel_command_line: Option<String>,
    /// Settings of the kernel and the CPUs that a figure may depend on, by path.
    pub settings: BTreeMap<String, String>,
    /// The control groups of the process, as `/proc/self/cgroup` has them, and their limits, by path.
    pub cgroups: Vec<String>,
    pub cgroup_limits: BTreeMap<String, String>,
    /// Versions of what it was built with or runs on, by package.
    pub packages: BTreeMap<String, String>,
    pub build: Build,
    pub program: Option<FileState>,
}

impl Manifest {
    /// Reads it all, for a program that was built like that. `hash_of` gives a file's hash.
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
            settings: settings::read(Path::new("/")),
            cgroup_limits: cgroup::limits(Path::new("/sys/fs/cgroup"), &cgroups),
            cgroups,
            packages: packages::installed(Path::new("/")),
            build,
            program: std::env::current_exe().ok().and_then(|path| FileState::of(&path, hash_of(&path)).ok()),
        }
    }
}
