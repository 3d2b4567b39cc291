//! The time and memory that a program used.

/// The kernel's account of a program and of the processes that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user_s: f64,
    /// CPU time in kernel mode.
    pub system_s: f64,
    /// The largest resident memory of one of these processes. Before a process executes its program it has the memory of
    /// the process that started it, so the value is not below that of contend.
    pub memory_kib: u64,
    /// Context switches: those of a blocked thread, and those of a thread that lost its CPU.
    pub switches: u64,
    /// Page faults: those that read from a device, and those that do not.
    pub faults: u64,
}

impl Usage {
    /// Returns the CPU time in user and kernel mode.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }

    /// Returns what the kernel says. Allocates nothing, since a guardian calls it.
    pub fn of(usage: &libc::rusage) -> Self {
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let count = |count: libc::c_long| count.max(0) as u64;
        Self {
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
            memory_kib: count(usage.ru_maxrss),
            switches: count(usage.ru_nvcsw + usage.ru_nivcsw),
            faults: count(usage.ru_minflt + usage.ru_majflt),
        }
    }
}
