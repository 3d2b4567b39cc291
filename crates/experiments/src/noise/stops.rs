//! The setting of the machine that stops a cause of gaps, or of wake-up latency.

use super::record::CauseRow;
use instruments::evidence::Kind;
use terminal::{Page, wrapped};

/// Names of kernel threads that each belong to one CPU.
const BOUND: [&str; 4] = ["ksoftirqd/", "migration/", "rcuc/", "cpuhp/"];

/// The least share of the gap time of a cause that has a line.
const LEAST_SHARE: f64 = 0.02;

/// The thread that a cause delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delayed {
    /// A thread that never blocks.
    Sampling,
    /// A thread that sleeps until an instant.
    Waking,
}

/// Returns a line for each setting that would stop a considerable part of the lost time; settings of several causes
/// have one line.
pub fn lines<'c>(delayed: Delayed, causes: impl IntoIterator<Item = &'c CauseRow>, page: &Page) -> String {
    let mut found: Vec<&'static str> = Vec::new();
    for cause in causes.into_iter().filter(|cause| cause.share >= LEAST_SHARE) {
        let name = cause.name.as_deref().unwrap_or_default();
        let setting = setting(delayed, cause.kind, name, cause.period_us.is_some());
        found.extend(setting.filter(|setting| !found.contains(setting)));
    }
    let lines: String = found.iter().map(|setting| wrapped("    -", "     ", setting, page)).collect();
    let threads = match delayed {
        Delayed::Sampling => "the sampling threads",
        Delayed::Waking => "the threads that wake up",
    };
    if lines.is_empty() { lines } else { format!("  to stop them (CPUS: the CPUs of {threads}):\n{lines}") }
}

/// Returns the setting that stops a cause; `None` for a part of the measurement.
fn setting(delayed: Delayed, kind: Kind, name: &str, is_periodic: bool) -> Option<&'static str> {
    Some(match (kind, name) {
        (Kind::Interrupt, "local_timer") => {
            "local_timer: boot with nohz_full=CPUS (a kernel with CONFIG_NO_HZ_FULL), which stops the tick under one task"
        }
        (Kind::Interrupt, "reschedule" | "call_function" | "call_function_single" | "irq_work") => {
            "interrupts of other CPUs: boot with isolcpus=CPUS nohz_full=CPUS, so that they have less to notify"
        }
        (Kind::Interrupt, _) => {
            "device interrupts: write the other CPUs to /proc/irq/N/smp_affinity_list, and restrict irqbalance to them"
        }
        (Kind::Softirq, "rcu") => "softirq rcu: boot with rcu_nocbs=CPUS, which moves the callbacks to other CPUs",
        (Kind::Softirq, "sched" | "timer" | "hrtimer") => {
            "softirqs of the scheduler and of timers: boot with isolcpus=CPUS nohz_full=CPUS"
        }
        (Kind::Softirq, _) => "softirqs of devices: move the device's interrupt, by /proc/irq/N/smp_affinity_list",
        // Load that contend itself puts on the CPU, and threads of the kernel that no setting moves.
        (Kind::Task, "competitor" | "rescheduler") => return None,
        (Kind::Task, name) if BOUND.iter().any(|begin| name.starts_with(begin)) => return None,
        (Kind::Task, name) if name.starts_with("kworker/u") => {
            "unbound kernel workers: write a mask without CPUS to /sys/devices/virtual/workqueue/cpumask"
        }
        (Kind::Task, name) if name.starts_with("kworker/") => {
            "kernel workers of the CPU: no mask moves them; they do work that was queued on this CPU"
        }
        (Kind::Task | Kind::SwitchedOut, _) => {
            "other tasks: boot with isolcpus=CPUS, or use a cpuset partition (cpuset.cpus.partition = isolated)"
        }
        (Kind::Steal, _) => "hypervisor: the host ran others; nothing inside this machine stops it",
        (Kind::RealtimeThrottling, _) => "real-time throttling: sysctl kernel.sched_rt_runtime_us=-1",
        (Kind::CgroupThrottling, _) => "cgroup throttling: raise the CPU limit of the container (cpu.max, --cpus)",
        (Kind::TimerSlack, _) => {
            "timer slack: use a real-time policy (--policy fifo:N), which has none, or prctl(PR_SET_TIMERSLACK)"
        }
        (Kind::TimerLate, _) => {
            "late timers: a task had interrupts disabled, which a kernel with PREEMPT_RT avoids, or the host was late"
        }
        (Kind::Idle, _) if delayed == Delayed::Waking => {
            "exit from idle state: hold /dev/cpu_dma_latency open with the value 0, or boot with idle=poll; costs power"
        }
        (Kind::Unexplained, _) if is_periodic => {
            "unexplained and periodic: no event of this kernel; in a virtual machine likely the host, else firmware"
        }
        (Kind::Unexplained | Kind::Blocked | Kind::Idle | Kind::Own, _) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_the_setting_that_stops_it() {
        for (kind, name, word) in [
            (Kind::Interrupt, "local_timer", "nohz_full"),
            (Kind::Interrupt, "virtio0", "smp_affinity_list"),
            (Kind::Softirq, "rcu", "rcu_nocbs"),
            (Kind::Task, "cron", "isolcpus"),
            (Kind::Task, "kworker/u4:0", "workqueue"),
            (Kind::Task, "kworker/1:0", "no mask"),
            (Kind::Steal, "", "host"),
        ] {
            assert!(
                setting(Delayed::Sampling, kind, name, false).is_some_and(|setting| setting.contains(word)),
                "{name}"
            );
        }
        for name in ["competitor", "rescheduler", "ksoftirqd/1", "migration/0"] {
            assert_eq!(setting(Delayed::Sampling, Kind::Task, name, false), None, "{name}");
        }
        assert_eq!(setting(Delayed::Sampling, Kind::Unexplained, "", false), None);
        assert!(
            setting(Delayed::Sampling, Kind::Unexplained, "", true).is_some_and(|setting| setting.contains("host"))
        );
    }

    #[test]
    fn an_idle_state_delays_only_a_thread_that_sleeps() {
        assert_eq!(setting(Delayed::Sampling, Kind::Idle, "", false), None);
        let waking = |kind| setting(Delayed::Waking, kind, "", false).unwrap();
        assert!(waking(Kind::Idle).contains("/dev/cpu_dma_latency"));
        assert!(waking(Kind::TimerSlack).contains("fifo:N"));
    }
}
