//! The setting of the machine that stops a cause of gaps, or of wake-up latency, as far as the record shows that the
//! machine can have it and does not have it yet.

use super::cause_groups::CauseGroup;
use instruments::cpus::CpuSet;
use instruments::environment::{Environment, Kernel, TickStop};
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

/// The delayed threads, and the settings of the machine when they were measured.
pub struct Setup<'r> {
    delayed: Delayed,
    kernel: &'r Kernel,
    /// The CPUs of the threads.
    cpus: CpuSet,
    /// Whether another CPU can do the work that is moved away from these; unknown counts as yes.
    has_other_cpu: bool,
    /// The number of interrupts that may be routed to these CPUs; `None` where that is unknown.
    irqs: Option<usize>,
}

impl<'r> Setup<'r> {
    /// Creates the setup of threads on some CPUs, each with the number of interrupts that may be routed to it.
    pub fn new(
        delayed: Delayed,
        environment: &'r Environment,
        cpus: impl IntoIterator<Item = (usize, Option<usize>)>,
    ) -> Self {
        let cpus: Vec<(usize, Option<usize>)> = cpus.into_iter().collect();
        let irqs = cpus.iter().map(|(_, irqs)| *irqs).sum();
        let cpus: CpuSet = cpus.into_iter().map(|(cpu, _)| cpu).collect();
        let online = environment.cpu.online.as_ref();
        let has_other_cpu = online.is_none_or(|online| online.iter().any(|cpu| !cpus.contains(cpu)));
        Self { delayed, kernel: &environment.kernel, cpus, has_other_cpu, irqs }
    }

    /// Returns whether all CPUs of the threads are in a set.
    fn are_all_in(&self, set: Option<&CpuSet>) -> bool {
        set.is_some_and(|set| self.cpus.iter().all(|cpu| set.contains(cpu)))
    }

    fn is_isolated(&self) -> bool {
        self.are_all_in(self.kernel.isolated().as_ref())
    }

    fn is_tickless(&self) -> bool {
        matches!(self.kernel.tick_stop(), TickStop::On(set) if self.are_all_in(Some(set)))
    }
}

/// The advice about a cause.
#[derive(Clone, Debug, PartialEq)]
enum Advice {
    /// A setting that stops it.
    Set(String),
    /// The reason why no setting of this machine stops it, or none is left.
    Nothing(String),
}

fn set(words: impl Into<String>) -> Advice {
    Advice::Set(words.into())
}

fn nothing(words: impl Into<String>) -> Advice {
    Advice::Nothing(words.into())
}

/// Returns a line for each setting that would stop a considerable part of the lost time, then one for each other reason
/// why a cause remains; settings of several causes have one line.
pub fn lines(setup: &Setup<'_>, causes: impl IntoIterator<Item = CauseGroup>, page: &Page) -> String {
    let mut found: Vec<Advice> = Vec::new();
    for cause in causes.into_iter().map(|group| group.row).filter(|cause| cause.share >= LEAST_SHARE) {
        let name = cause.name.as_deref().unwrap_or_default();
        let advice = advice(setup, cause.kind, name, cause.period_us.is_some());
        found.extend(advice.filter(|advice| !found.contains(advice)));
    }
    let list = |title: String, words: Vec<&str>| match words.is_empty() {
        true => String::new(),
        false => title + &words.iter().map(|words| wrapped("    -", "     ", words, page)).collect::<String>(),
    };
    let settings =
        found.iter().filter_map(|advice| if let Advice::Set(words) = advice { Some(&**words) } else { None });
    let reasons =
        found.iter().filter_map(|advice| if let Advice::Nothing(words) = advice { Some(&**words) } else { None });
    let threads = match setup.delayed {
        Delayed::Sampling => "the sampling threads",
        Delayed::Waking => "the threads that wake up",
    };
    list(format!("  to stop them (CPUS: the CPUs of {threads}):\n"), settings.collect())
        + &list("  no further setting of this machine stops:\n".to_owned(), reasons.collect())
}

/// Returns the advice about a cause; `None` for a part of the measurement.
fn advice(setup: &Setup<'_>, kind: Kind, name: &str, is_periodic: bool) -> Option<Advice> {
    Some(match (kind, name) {
        (Kind::Interrupt, "local_timer") => tick(setup),
        (Kind::Interrupt, "reschedule" | "call_function" | "call_function_single" | "irq_work") => {
            quieter(setup, "interrupts of other CPUs", ", so that they have less to notify")
        }
        (Kind::Interrupt, _) => device(
            setup,
            "device interrupts",
            "write the other CPUs to /proc/irq/N/smp_affinity_list, and restrict irqbalance to them",
        ),
        (Kind::Softirq, "rcu") => callbacks(setup),
        (Kind::Softirq, "sched" | "timer" | "hrtimer") => quieter(setup, "softirqs of the scheduler and of timers", ""),
        (Kind::Softirq, _) => {
            device(setup, "softirqs of devices", "move the device's interrupt, by /proc/irq/N/smp_affinity_list")
        }
        // Load that contend itself puts on the CPU, and threads of the kernel that no setting moves.
        (Kind::Task, "competitor" | "rescheduler") => return None,
        (Kind::Task, name) if BOUND.iter().any(|begin| name.starts_with(begin)) => return None,
        (Kind::Task, name) if name.starts_with("kworker/u") => unbound_workers(setup),
        (Kind::Task, name) if name.starts_with("kworker/") => {
            nothing("kernel workers of the CPU: no mask moves them; they do work that was queued on this CPU")
        }
        (Kind::Task | Kind::SwitchedOut, _) => tasks(setup),
        (Kind::Steal, _) => nothing("hypervisor: the host ran others; nothing inside this machine stops it"),
        (Kind::RealtimeThrottling, _) if setup.kernel.rt_runtime_us == Some(-1) => nothing(
            "real-time throttling: kernel.sched_rt_runtime_us is -1 already; a cgroup has a limit of its real time",
        ),
        (Kind::RealtimeThrottling, _) => set("real-time throttling: sysctl kernel.sched_rt_runtime_us=-1"),
        (Kind::CgroupThrottling, _) => set("cgroup throttling: raise the CPU limit of the container (cpu.max, --cpus)"),
        (Kind::TimerSlack, _) => {
            set("timer slack: use a real-time policy (--policy fifo:N), which has none, or prctl(PR_SET_TIMERSLACK)")
        }
        (Kind::TimerLate, _) => late_timers(setup.kernel),
        (Kind::Idle, _) if setup.delayed == Delayed::Waking => idle(setup.kernel),
        (Kind::Unexplained, _) if is_periodic => nothing(
            "unexplained and periodic: no event of this kernel; in a virtual machine likely the host, else firmware",
        ),
        (Kind::Unexplained | Kind::Blocked | Kind::Idle | Kind::Own, _) => return None,
    })
}

/// The reason why nothing can be moved away from the CPUs.
const NO_OTHER_CPU: &str = "these are all CPUs, and the system needs another one";

fn tick(setup: &Setup<'_>) -> Advice {
    match setup.kernel.tick_stop() {
        TickStop::On(_) if setup.is_tickless() => nothing(
            "local_timer: nohz_full has these CPUs already; the tick continues while a CPU has two tasks to run",
        ),
        TickStop::Impossible => {
            nothing("local_timer: this kernel lacks CONFIG_NO_HZ_FULL, so the tick of a busy CPU cannot stop")
        }
        _ if !setup.has_other_cpu => nothing(format!("local_timer: {NO_OTHER_CPU}")),
        TickStop::Unknown => set(
            "local_timer: boot with nohz_full=CPUS (a kernel with CONFIG_NO_HZ_FULL), which stops the tick under one task",
        ),
        TickStop::On(_) | TickStop::Possible => {
            set("local_timer: boot with nohz_full=CPUS, which stops the tick under one task")
        }
    }
}

/// Returns the boot options that keep the work of the scheduler away from the CPUs, as far as they are missing.
fn quieter(setup: &Setup<'_>, what: &str, effect: &str) -> Advice {
    let kernel = setup.kernel;
    let can_isolate = !setup.is_isolated() && !kernel.lacks("CPU_ISOLATION");
    let can_be_tickless = !setup.is_tickless() && kernel.tick_stop() != TickStop::Impossible;
    let options = [("isolcpus=CPUS", can_isolate), ("nohz_full=CPUS", can_be_tickless)];
    let missing: Vec<&str> =
        options.into_iter().filter(|(_, is_missing)| *is_missing).map(|(option, _)| option).collect();
    match (missing.is_empty(), setup.has_other_cpu) {
        (true, _) => nothing(format!("{what}: isolcpus and nohz_full are in effect, or this kernel lacks them")),
        (false, false) => nothing(format!("{what}: {NO_OTHER_CPU}")),
        (false, true) => set(format!("{what}: boot with {}{effect}", missing.join(" "))),
    }
}

fn device(setup: &Setup<'_>, what: &str, setting: &str) -> Advice {
    match (setup.irqs, setup.has_other_cpu) {
        (Some(0), _) => nothing(format!("{what}: no interrupt of a device may be routed to these CPUs any more")),
        (_, false) => nothing(format!("{what}: {NO_OTHER_CPU}")),
        (_, true) => set(format!("{what}: {setting}")),
    }
}

fn callbacks(setup: &Setup<'_>) -> Advice {
    if setup.kernel.lacks("RCU_NOCB_CPU") {
        return nothing("softirq rcu: this kernel lacks CONFIG_RCU_NOCB_CPU, so the callbacks cannot be moved");
    }
    if setup.are_all_in(setup.kernel.callback_free_cpus.as_ref()) {
        return nothing("softirq rcu: rcu_nocbs or nohz_full moves the callbacks of these CPUs already");
    }
    match setup.has_other_cpu {
        true => set("softirq rcu: boot with rcu_nocbs=CPUS, which moves the callbacks to other CPUs"),
        false => nothing(format!("softirq rcu: {NO_OTHER_CPU}")),
    }
}

fn unbound_workers(setup: &Setup<'_>) -> Advice {
    let may_run = |cpus: &CpuSet| setup.cpus.iter().any(|cpu| cpus.contains(cpu));
    match (setup.kernel.unbound_worker_cpus.as_ref().is_none_or(may_run), setup.has_other_cpu) {
        (false, _) => nothing("unbound kernel workers: their mask excludes these CPUs already"),
        (true, false) => nothing(format!("unbound kernel workers: {NO_OTHER_CPU}")),
        (true, true) => {
            set("unbound kernel workers: write a mask without CPUS to /sys/devices/virtual/workqueue/cpumask")
        }
    }
}

fn tasks(setup: &Setup<'_>) -> Advice {
    const PARTITION: &str = "a cpuset partition (cpuset.cpus.partition = isolated)";
    match (setup.is_isolated(), setup.has_other_cpu, setup.kernel.lacks("CPU_ISOLATION")) {
        (true, ..) => {
            nothing("other tasks: these CPUs are isolated already; a task runs there only if it was pinned to them")
        }
        (false, false, _) => nothing(format!("other tasks: {NO_OTHER_CPU}")),
        (false, true, true) => set(format!("other tasks: use {PARTITION}")),
        (false, true, false) => set(format!("other tasks: boot with isolcpus=CPUS, or use {PARTITION}")),
    }
}

fn late_timers(kernel: &Kernel) -> Advice {
    match kernel.preemption.as_deref() {
        Some("rt") => nothing(
            "late timers: a task had interrupts disabled, although the kernel has PREEMPT_RT, or the host was late",
        ),
        _ => set(
            "late timers: a task had interrupts disabled, which a kernel with PREEMPT_RT avoids, or the host was late",
        ),
    }
}

fn idle(kernel: &Kernel) -> Advice {
    match kernel.idle_driver.as_deref() {
        Some("poll") => nothing("exit from idle state: an idle CPU polls already (idle=poll)"),
        Some("none") => set(
            "exit from idle state: boot with idle=poll, since this kernel has no driver of idle states; costs power",
        ),
        _ => set(
            "exit from idle state: hold /dev/cpu_dma_latency open with the value 0, or boot with idle=poll; costs power",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::sample::environment;

    fn of(environment: &Environment, irqs: Option<usize>, kind: Kind, name: &str) -> Option<Advice> {
        advice(&Setup::new(Delayed::Sampling, environment, [(1, irqs)]), kind, name, false)
    }

    fn has(advice: Option<Advice>, is_setting: bool, word: &str) -> bool {
        match advice {
            Some(Advice::Set(words)) => is_setting && words.contains(word),
            Some(Advice::Nothing(words)) => !is_setting && words.contains(word),
            None => false,
        }
    }

    #[test]
    fn a_cause_has_the_setting_that_stops_it() {
        let unknown = environment();
        for (kind, name, is_setting, word) in [
            (Kind::Interrupt, "local_timer", true, "nohz_full"),
            (Kind::Interrupt, "virtio0", true, "smp_affinity_list"),
            (Kind::Softirq, "rcu", true, "rcu_nocbs"),
            (Kind::Task, "cron", true, "isolcpus"),
            (Kind::Task, "kworker/u4:0", true, "workqueue"),
            (Kind::Task, "kworker/1:0", false, "no mask"),
            (Kind::Steal, "", false, "host"),
        ] {
            assert!(has(of(&unknown, None, kind, name), is_setting, word), "{name}");
        }
        for name in ["competitor", "rescheduler", "ksoftirqd/1", "migration/0"] {
            assert_eq!(of(&unknown, None, Kind::Task, name), None, "{name}");
        }
        assert_eq!(of(&unknown, None, Kind::Unexplained, ""), None);
        let periodic = advice(&Setup::new(Delayed::Sampling, &unknown, [(1, None)]), Kind::Unexplained, "", true);
        assert!(has(periodic, false, "host"));
    }

    #[test]
    fn applied_settings_are_not_proposed() {
        let mut tuned = environment();
        let cpus: Option<CpuSet> = Some("1-3".parse().unwrap());
        tuned.cpu.online = "0-3".parse().ok();
        let kernel = &mut tuned.kernel;
        (kernel.isolated_cpus, kernel.tickless_cpus, kernel.callback_free_cpus) = (cpus.clone(), cpus.clone(), cpus);
        kernel.unbound_worker_cpus = Some(CpuSet::single(0));
        (kernel.rt_runtime_us, kernel.preemption) = (Some(-1), Some("rt".into()));
        for (kind, name, word) in [
            (Kind::Interrupt, "local_timer", "already"),
            (Kind::Interrupt, "reschedule", "isolcpus and nohz_full are in effect"),
            (Kind::Interrupt, "virtio0", "no interrupt of a device"),
            (Kind::Softirq, "net_rx", "no interrupt of a device"),
            (Kind::Softirq, "rcu", "already"),
            (Kind::Task, "cron", "isolated already"),
            (Kind::Task, "kworker/u4:0", "already"),
            (Kind::RealtimeThrottling, "", "-1 already"),
            (Kind::TimerLate, "", "has PREEMPT_RT"),
        ] {
            assert!(has(of(&tuned, Some(0), kind, name), false, word), "{name}: {:?}", of(&tuned, Some(0), kind, name));
        }
        // A setting of one CPU is not that of all measured CPUs.
        let both = Setup::new(Delayed::Sampling, &tuned, [(0, Some(3)), (1, Some(0))]);
        for (kind, name) in [(Kind::Interrupt, "local_timer"), (Kind::Interrupt, "virtio0"), (Kind::Task, "cron")] {
            assert!(has(advice(&both, kind, name, false), true, ""), "{name}");
        }
    }

    #[test]
    fn impossible_settings_are_not_proposed() {
        let mut plain = environment();
        (plain.kernel.tickless, plain.kernel.tickless_cpus) = (Some("idle".into()), None);
        plain.kernel.lacking_options = Some(["CPU_ISOLATION", "NO_HZ_FULL", "RCU_NOCB_CPU"].map(str::to_owned).into());
        assert!(has(of(&plain, Some(3), Kind::Interrupt, "local_timer"), false, "lacks CONFIG_NO_HZ_FULL"));
        assert!(has(of(&plain, Some(3), Kind::Softirq, "rcu"), false, "lacks CONFIG_RCU_NOCB_CPU"));
        assert!(has(of(&plain, Some(3), Kind::Softirq, "sched"), false, "or this kernel lacks them"));
        assert!(has(of(&plain, Some(3), Kind::Task, "cron"), true, "other tasks: use a cpuset partition"));
        let mut single = environment();
        single.cpu.online = Some(CpuSet::single(1));
        for (kind, name) in [(Kind::Interrupt, "local_timer"), (Kind::Interrupt, "virtio0"), (Kind::Task, "cron")] {
            assert!(has(of(&single, Some(3), kind, name), false, NO_OTHER_CPU), "{name}");
        }
    }

    #[test]
    fn an_idle_state_delays_only_a_thread_that_sleeps() {
        let mut machine = environment();
        assert_eq!(of(&machine, None, Kind::Idle, ""), None);
        let mut waking = |driver: Option<&str>, kind| {
            machine.kernel.idle_driver = driver.map(str::to_owned);
            advice(&Setup::new(Delayed::Waking, &machine, [(1, None)]), kind, "", false)
        };
        assert!(has(waking(None, Kind::Idle), true, "/dev/cpu_dma_latency"));
        assert!(has(waking(Some("none"), Kind::Idle), true, "boot with idle=poll, since"));
        assert!(has(waking(Some("poll"), Kind::Idle), false, "already"));
        assert!(has(waking(None, Kind::TimerSlack), true, "fifo:N"));
    }
}
