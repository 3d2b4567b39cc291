//! Properties of the machine, its clock and its permissions that affect a measurement.

use super::value::{Severity, Warning, WarningKind};
use crate::cpus::CpuSet;
use crate::cpus::realtime::Missing;
use crate::digits::percent;
use crate::environment::{ActivityShare, Environment};
use serde::Serialize;

/// The hypervisor took CPU time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Steal {
    /// Share of the wall time of the measured CPUs.
    pub share: f64,
}

impl WarningKind for Steal {
    const CODE: &'static str = "steal";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        format!("the hypervisor took {} of the CPU time", percent(self.share))
    }

    fn remedy(&self) -> &'static str {
        "use a virtual machine with dedicated CPUs, or bare metal; or measure while its host is idle"
    }
}

/// The process lost CPUs of the measurement while it ran: to a container manager or an administrator, or because they
/// went offline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpusTakenAway {
    /// Lost CPUs, such as `1` or `2-3`.
    pub lost: String,
    /// CPUs that it still has.
    pub left: String,
}

impl WarningKind for CpusTakenAway {
    const CODE: &'static str = "cpus_taken_away";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        let Self { lost, left } = self;
        format!("this process lost access to CPU {lost} during the measurement; still allowed: CPU {left}")
    }

    fn remedy(&self) -> &'static str {
        "keep the container's cpuset unchanged during the measurement, or select CPUs that stay allowed with --cpus"
    }
}

/// Other processes ran on the CPUs of the measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherLoad {
    /// Share of the wall time of those CPUs.
    pub share: f64,
}

impl WarningKind for OtherLoad {
    const CODE: &'static str = "other_load";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        format!("other processes used {} of the CPU time", percent(self.share))
    }

    fn remedy(&self) -> &'static str {
        "stop other programs, or choose quieter CPUs with --cpus"
    }
}

/// Two of the measured CPUs are threads of one core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SmtSiblingsShared {
    /// One of them.
    pub cpu: usize,
    /// The other one.
    pub sibling: usize,
    /// Time of the measurement that showed it, in seconds since 1970, and its age; absent if the kernel reports it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub probed: Option<Probed>,
}

/// The time of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Probed {
    /// In seconds since 1970.
    pub probed_unix_s: u64,
    /// Its age when the warning was made, in seconds.
    pub probed_age_s: u64,
}

impl WarningKind for SmtSiblingsShared {
    const CODE: &'static str = "smt_siblings_shared";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        let Self { cpu, sibling, probed } = self;
        let probed = probed.map_or_else(String::new, |Probed { probed_unix_s, probed_age_s }| {
            let minutes = probed_unix_s / 60;
            let (hour, minute, age) = (minutes / 60 % 24, minutes % 60, probed_age_s / 60);
            format!(", as probed at {hour:02}:{minute:02} UTC, {age} min ago")
        });
        format!("CPUs {cpu} and {sibling} are SMT siblings on one core{probed}: each slows the other")
    }

    fn remedy(&self) -> &'static str {
        if self.probed.is_some() {
            "choose CPUs of different cores with --cpus, or probe them again with `contend core`"
        } else {
            "choose CPUs of different cores with --cpus (lscpu --extended shows them), or switch SMT off: \
             write off to /sys/devices/system/cpu/smt/control"
        }
    }
}

/// The control group grants less CPU time than the measurement can use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuQuota {
    /// Number of CPUs whose time it grants.
    pub cpus: f64,
}

impl WarningKind for CpuQuota {
    const CODE: &'static str = "cpu_quota";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        format!("the cgroup limits contend to {} CPUs and throttles it above that", self.cpus)
    }

    fn remedy(&self) -> &'static str {
        "raise the limit (cpu.max, cpu.cfs_quota_us, or the container's --cpus), or use fewer threads with --threads"
    }
}

/// The clock frequency may change during the measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrequencyChanging {
    /// Governor that selects it.
    pub governor: String,
}

impl WarningKind for FrequencyChanging {
    const CODE: &'static str = "frequency_changing";

    fn message(&self) -> String {
        format!("the clock frequency may change during the measurement: the governor is {}", self.governor)
    }

    fn remedy(&self) -> &'static str {
        "`sudo cpupower frequency-set --governor performance`"
    }
}

/// The kernel stops real-time threads for a part of each period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RealtimeThrottling {
    /// Runtime within the period, in µs.
    pub runtime_us: i64,
    /// Length of the period, in µs.
    pub period_us: u64,
}

impl WarningKind for RealtimeThrottling {
    const CODE: &'static str = "realtime_throttling";

    fn message(&self) -> String {
        let Self { runtime_us, period_us } = self;
        format!("real-time threads are throttled after {runtime_us} µs of each {period_us} µs")
    }

    fn remedy(&self) -> &'static str {
        "`sudo sysctl kernel.sched_rt_runtime_us=-1` lifts it; a real-time thread that never sleeps can then \
         hang its CPU"
    }
}

/// The scheduler groups threads by session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Autogroup;

impl WarningKind for Autogroup {
    const CODE: &'static str = "autogroup";
    const SEVERITY: Severity = Severity::Advice;

    fn message(&self) -> String {
        "the scheduler groups threads by session (autogroup): nice values apply only within a session".to_owned()
    }

    fn remedy(&self) -> &'static str {
        "`sudo sysctl kernel.sched_autogroup_enabled=0`"
    }
}

/// A core may have been shared with another hardware thread for the whole time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeverAlone {
    /// The CPU.
    pub cpu: u16,
    /// Evidence for it.
    pub reason: String,
}

impl WarningKind for NeverAlone {
    const CODE: &'static str = "never_alone";

    fn message(&self) -> String {
        let Self { cpu, reason } = self;
        format!("CPU {cpu} may never have had its core exclusively: {reason}")
    }

    fn remedy(&self) -> &'static str {
        "distrust values labelled core exclusive, since the core may have been shared; measure longer, or at another time of day"
    }
}

/// The CPU's own counter is not trusted; the system's clock is read instead.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockFallback {
    /// Reason why it is not trusted.
    pub reason: String,
}

impl WarningKind for ClockFallback {
    const CODE: &'static str = "clock_fallback";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        format!("the CPU's time-stamp counter is not used: {}", self.reason)
    }

    fn remedy(&self) -> &'static str {
        "use a machine whose counter is constant and agrees between CPUs (clock source tsc in \
         /sys/devices/system/clocksource/clocksource0/current_clocksource); values below 100 ns are coarser here"
    }
}

// Missing privileges.

/// Real-time threads were requested and are not permitted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoRealtimePriority {
    /// Missing condition.
    pub missing: Missing,
}

impl WarningKind for NoRealtimePriority {
    const CODE: &'static str = "no_realtime_priority";

    fn message(&self) -> String {
        format!("real-time priority was refused: {}", self.missing)
    }

    fn remedy(&self) -> &'static str {
        self.missing.remedy()
    }
}

/// A nice value below the current one was requested and is not permitted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NiceRefused {
    /// Requested value.
    pub wanted: i32,
    /// Granted value.
    pub granted: i32,
}

impl WarningKind for NiceRefused {
    const CODE: &'static str = "nice_refused";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        let Self { wanted, granted } = self;
        format!("nice value {wanted} was refused; {granted} was used instead")
    }

    fn remedy(&self) -> &'static str {
        "run `sudo setcap cap_sys_nice+ep $(command -v contend)`, or add the line `YOUR_USER - nice -20` to a file \
         in /etc/security/limits.d and log in again; in a container start it with --cap-add SYS_NICE"
    }
}

/// A priority that needs a privilege was requested.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriorityRefused {
    /// Requested priority.
    pub wanted: String,
    /// Error text of the system.
    pub reason: String,
}

impl WarningKind for PriorityRefused {
    const CODE: &'static str = "priority_refused";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        let Self { wanted, reason } = self;
        format!("priority {wanted} was refused ({reason}); SCHED_IDLE was measured instead")
    }

    fn remedy(&self) -> &'static str {
        "run `sudo setcap cap_sys_nice+ep $(command -v contend)`, or raise the limit with the line \
         `YOUR_USER - nice -20` in a file in /etc/security/limits.d and log in again; in a container start it \
         with --cap-add SYS_NICE"
    }
}

/// The recorder's memory could not be locked, so a page fault may hit a measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryNotLocked {
    /// Error text of the system.
    pub reason: String,
}

impl WarningKind for MemoryNotLocked {
    const CODE: &'static str = "memory_not_locked";

    fn message(&self) -> String {
        format!("the recorder's memory could not be locked: {}", self.reason)
    }

    fn remedy(&self) -> &'static str {
        "raise RLIMIT_MEMLOCK: `ulimit -l unlimited` as root, or the line `YOUR_USER - memlock unlimited` in a \
         file in /etc/security/limits.d; or grant CAP_IPC_LOCK"
    }
}

// The warnings that follow from the environment alone, before and after a measurement.

/// Returns the warnings for a measurement on `cpus` that follow from the environment before the measurement, at this
/// time.
///
/// Real-time throttling matters only to measurements with real-time threads: see [`realtime_throttling`].
pub fn standing(environment: &Environment, cpus: &CpuSet, now_unix_s: u64) -> Vec<Warning> {
    let autogroup = (environment.kernel.autogroup == Some(true)).then(|| Autogroup.into());
    // A quota that covers all CPUs in use never stops a thread.
    let quota = environment.limits.cpu_quota_cpus.filter(|&quota| quota < cpus.len() as f64);
    let governor = environment.cpu.governor.clone().filter(|governor| governor != "performance");
    shared_siblings(environment, cpus, now_unix_s)
        .into_iter()
        .chain(autogroup)
        .chain(quota.map(|cpus| CpuQuota { cpus }.into()))
        .chain(governor.map(|governor| FrequencyChanging { governor }.into()))
        .collect()
}

/// Returns, for each core with several of `cpus`, the pairs of its first CPU with each further one.
fn shared_siblings(environment: &Environment, cpus: &CpuSet, now_unix_s: u64) -> Vec<Warning> {
    let warning = |cpu, sibling| {
        let at = environment.cpu.probed.as_ref().and_then(|probed| probed.probed_unix_s(cpu, sibling));
        let probed = at.map(|at| Probed { probed_unix_s: at, probed_age_s: now_unix_s.saturating_sub(at) });
        SmtSiblingsShared { cpu, sibling, probed }.into()
    };
    let mut warnings = Vec::new();
    let mut left = cpus.clone();
    while let Some(cpu) = left.first() {
        let core: CpuSet = environment.cpu.first_core(&left).into_iter().collect();
        warnings.extend(core.iter().skip(1).map(|sibling| warning(cpu, sibling)));
        left = left.iter().filter(|&cpu| !core.contains(cpu)).collect();
    }
    warnings
}

/// Returns the warning for a measurement whose real-time threads use this share of their CPUs, if the kernel grants
/// them less.
pub fn realtime_throttling(environment: &Environment, used_share: f64) -> Option<Warning> {
    let runtime_us = environment.kernel.rt_runtime_us.filter(|&runtime| runtime >= 0)?;
    let period_us = environment.kernel.rt_period_us?;
    let is_throttled = (runtime_us as f64) < used_share * period_us as f64;
    is_throttled.then(|| RealtimeThrottling { runtime_us, period_us }.into())
}

/// Share of other processes above which [`disturbances`] warns. A quiet machine remains below it.
pub const OTHER_LOAD_SHARE: f64 = 0.02;

/// Share of the hypervisor above which [`disturbances`] warns. A smaller share cannot affect a hundredth of the
/// latencies, so it changes no median and no p99. The environment of a record contains the share in any case.
pub const STEAL_SHARE: f64 = 0.01;

/// Returns the warnings after a measurement, from the use of the CPUs during it.
///
/// A share that does not exceed the resolution of the kernel's account is not reported.
pub fn disturbances(activity: &ActivityShare) -> Vec<Warning> {
    let (steal, other) = (activity.steal_share, activity.other_share);
    let floor = STEAL_SHARE.max(activity.resolution_share * ROUNDING);
    let steal = (steal > floor).then(|| Steal { share: steal }.into());
    let floor = OTHER_LOAD_SHARE.max(2.0 * activity.resolution_share * ROUNDING);
    let other = (other > floor).then(|| OtherLoad { share: other }.into());
    steal.into_iter().chain(other).collect()
}

/// Prevents a single jiffy, which may belong to an earlier time, from counting as more than one by rounding.
const ROUNDING: f64 = 1.0 + 1e-9;
