//! A cpuset of a test, from which it takes CPUs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A control group, in either version of the hierarchy, that is removed with this.
pub struct Cpuset(PathBuf);

impl Cpuset {
    /// Creates one with all CPUs; `None`, with a message, where none can be created or there is only one CPU.
    pub fn new() -> Option<Self> {
        let found = Self::found();
        if found.is_none() {
            println!("skipped: needs a cpuset control group that can be written, and two CPUs");
        }
        found
    }

    fn found() -> Option<Self> {
        // Version 1, then version 2.
        let parents = ["/sys/fs/cgroup/cpuset", "/sys/fs/cgroup"].map(Path::new);
        let parent = parents.into_iter().find(|parent| parent.join("cgroup.procs").exists())?;
        let _ = fs::write(parent.join("cgroup.subtree_control"), "+cpuset");
        let first = |names: [&str; 2]| names.into_iter().find_map(|name| fs::read_to_string(parent.join(name)).ok());
        let cpus = first(["cpuset.cpus.effective", "cpuset.cpus"])?;
        let memory = first(["cpuset.mems.effective", "cpuset.mems"])?;
        // Tests of one program run at the same time.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let own = parent.join(format!("contend-test-{}-{number}", std::process::id()));
        fs::create_dir(&own).ok()?;
        let own = Self(own);
        fs::write(own.0.join("cpuset.mems"), memory.trim()).ok()?;
        fs::write(own.0.join("cpuset.cpus"), cpus.trim()).ok()?;
        cpus.trim().starts_with("0-").then_some(own)
    }

    /// Moves a process into it.
    pub fn adopt(&self, process: u32) {
        fs::write(self.0.join("cgroup.procs"), process.to_string()).unwrap();
    }

    /// Reduces it to CPU 0.
    pub fn shrink(&self) {
        fs::write(self.0.join("cpuset.cpus"), "0").unwrap();
    }
}

impl Drop for Cpuset {
    fn drop(&mut self) {
        // Its last process may still exist.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}
