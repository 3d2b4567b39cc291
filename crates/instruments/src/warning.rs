//! What a reader of a figure should know before trusting it: warnings as typed values, each with its remedy.
//!
//! A warning is part of the record. There it carries its code, its message, its remedy and its fields, so that a
//! program can act on it and a person need not look it up:
//!
//! ```
//! use instruments::warning::Warning;
//!
//! let warning = Warning::Steal { share: 0.03 };
//! assert_eq!(warning.code(), "steal");
//! assert!(warning.message().contains("3.00 %"));
//! println!("warning: {}\n  remedy: {}", warning.message(), warning.remedy());
//! ```

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cpus::CpuSet;
use crate::cpus::priority::Missing;
use crate::environment::{ActivityShare, Environment};
use crate::evidence::Source;

/// Something that may have bent a figure, or that the figure cannot tell.
///
/// Shares are in 0..1. A serialised warning has the further fields `message` and `remedy`, which are ignored when it is
/// read back.
// `remote = "Self"` makes serde derive plain functions in place of the traits, so that the traits, implemented below,
// can add the two texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "code", rename_all = "snake_case")]
pub enum Warning {
    /// Real-time threads were wanted and are not to be had.
    NoRealtimePriority {
        /// What is missing.
        missing: Missing,
    },
    /// A nice value below the present one was wanted and is not to be had.
    NiceRefused {
        /// The value.
        wanted: i32,
        /// What was granted instead.
        granted: i32,
    },
    /// The time was up before the interval was as narrow as wanted.
    NotConverged {
        /// The figure.
        what: String,
        /// The width that its interval has, as a share of the figure.
        relative_width: f64,
        /// The width that was wanted.
        target: f64,
    },
    /// The hypervisor took CPU time.
    Steal {
        /// Of the wall time of the CPUs measured on.
        share: f64,
    },
    /// Other processes ran on the CPUs measured on.
    OtherLoad {
        /// Of the wall time of those CPUs.
        share: f64,
    },
    /// Two of the CPUs measured on are threads of one core.
    SmtSiblingsShared {
        /// One of them.
        cpu: usize,
        /// The other.
        sibling: usize,
    },
    /// The kernel stops real-time threads for a part of each period.
    RealtimeThrottling {
        /// What they may use of it, in µs.
        runtime_us: i64,
        /// The period, in µs.
        period_us: u64,
    },
    /// The scheduler groups threads by session.
    Autogroup,
    /// Reading the clock is a considerable part of what is measured.
    ClockCost {
        /// The cost of a reading, as a share of what is measured.
        share: f64,
        /// What is measured.
        what: String,
    },
    /// The CPU's own counter is not trusted; the system's clock is read instead.
    ClockFallback {
        /// Why it is not trusted.
        reason: String,
    },
    /// A figure is too small for the clock.
    BelowResolution {
        /// The figure.
        what: String,
        /// What can be told apart, in ns: the smallest step of the clock, or the scatter of what is subtracted.
        resolution_ns: f64,
    },
    /// The control group grants less CPU time than the measurement can use.
    CpuQuota {
        /// CPUs' worth of time that it grants.
        cpus: f64,
    },
    /// The measurement was stopped before its end.
    Interrupted {
        /// How long it ran, in s.
        measured_s: f64,
        /// How long it should have run, in s.
        planned_s: f64,
    },
    /// There are too few samples for what is claimed of them.
    FewSamples {
        /// What they are samples of.
        what: String,
        /// How many there are.
        count: u64,
    },
    /// The recorder's memory could not be locked, so that a page fault may hit a measurement.
    MemoryNotLocked {
        /// The system's words.
        reason: String,
    },
    /// The clock frequency may change while measuring.
    FrequencyChanging {
        /// Who chooses it.
        governor: String,
    },
    /// A recorder's buffer was full before the measurement ended.
    BufferFull {
        /// The recorder.
        what: String,
    },
    /// Something that was asked for was not measured.
    LeftOut {
        /// What.
        what: String,
        /// Why not.
        reason: String,
    },
    /// One of several experiments failed; the others were measured all the same.
    ExperimentFailed {
        /// Its name.
        experiment: String,
        /// What it said.
        reason: String,
    },
    /// A figure reaches beyond what its recording is long enough to tell.
    Extrapolated {
        /// The figure.
        what: String,
        /// How far the recording reaches.
        supported: String,
    },
    /// The work of a step is shorter than an interruption that it meets.
    StepShorterThanGap {
        /// The step's work, in µs.
        step_us: f64,
        /// The longest interruption, in µs.
        longest_gap_us: f64,
    },
    /// Spinning threads take turns on too few CPUs.
    ThreadsExceedCpus {
        /// Threads that want to run at the same time.
        threads: usize,
        /// CPUs that they may run on.
        cpus: usize,
    },
    /// The kernel's record of the CPUs is not to be had: a weaker source tells less of who took the CPU.
    WeakerEvidence {
        /// The source that is used instead.
        source: Source,
        /// Why not the best: the system's words.
        reason: String,
    },
    /// Switches are recorded, interrupts are not, or not all.
    NoInterruptEvidence {
        /// The system's words.
        reason: String,
    },
    /// The kernel had no room for some of its reports.
    EvidenceLost {
        /// How many.
        reports: u64,
        /// The share of the time of which nothing is known for it.
        blind_share: f64,
    },
    /// `/proc/stat`, which asks at every tick who is running, is far from what the CPU did.
    TickAccountingLies {
        /// The CPU.
        cpu: usize,
        /// Its load by `/proc/stat`.
        proc_stat_share: f64,
        /// Its load as measured.
        load_share: f64,
    },
    /// The meter takes a considerable part of what it watches.
    MeterDisturbs {
        /// What it takes, as a share of the CPUs' time.
        share: f64,
    },
    /// A priority that needs a privilege was asked for.
    PriorityRefused {
        /// The priority.
        wanted: String,
        /// The system's words.
        reason: String,
    },
    /// The record was not put into the archive.
    NotKept {
        /// Why.
        reason: String,
    },
}

impl Warning {
    /// The name that it has in a record, for programs to tell warnings apart by.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoRealtimePriority { .. } => "no_realtime_priority",
            Self::NiceRefused { .. } => "nice_refused",
            Self::NotConverged { .. } => "not_converged",
            Self::Steal { .. } => "steal",
            Self::OtherLoad { .. } => "other_load",
            Self::SmtSiblingsShared { .. } => "smt_siblings_shared",
            Self::RealtimeThrottling { .. } => "realtime_throttling",
            Self::Autogroup => "autogroup",
            Self::ClockCost { .. } => "clock_cost",
            Self::ClockFallback { .. } => "clock_fallback",
            Self::BelowResolution { .. } => "below_resolution",
            Self::CpuQuota { .. } => "cpu_quota",
            Self::Interrupted { .. } => "interrupted",
            Self::FewSamples { .. } => "few_samples",
            Self::MemoryNotLocked { .. } => "memory_not_locked",
            Self::FrequencyChanging { .. } => "frequency_changing",
            Self::BufferFull { .. } => "buffer_full",
            Self::LeftOut { .. } => "left_out",
            Self::ExperimentFailed { .. } => "experiment_failed",
            Self::Extrapolated { .. } => "extrapolated",
            Self::StepShorterThanGap { .. } => "step_shorter_than_gap",
            Self::ThreadsExceedCpus { .. } => "threads_exceed_cpus",
            Self::WeakerEvidence { .. } => "weaker_evidence",
            Self::NoInterruptEvidence { .. } => "no_interrupt_evidence",
            Self::EvidenceLost { .. } => "evidence_lost",
            Self::TickAccountingLies { .. } => "tick_accounting_lies",
            Self::MeterDisturbs { .. } => "meter_disturbs",
            Self::PriorityRefused { .. } => "priority_refused",
            Self::NotKept { .. } => "not_kept",
        }
    }

    /// What was seen, with its figures: one sentence without a full stop.
    pub fn message(&self) -> String {
        match self {
            Self::NoRealtimePriority { missing } => format!("no real-time priority: {missing}"),
            Self::NiceRefused { wanted, granted } => {
                format!("a thread may not have the nice value {wanted}: it has {granted}")
            }
            Self::NotConverged { what, relative_width, target } => {
                let (width, target) = (percent(*relative_width), percent(*target));
                format!("the 95 % interval of {what} is still {width} wide; wanted: {target}")
            }
            Self::Steal { share } => format!("the hypervisor took {} of the CPU time", percent(*share)),
            Self::OtherLoad { share } => format!("other processes used {} of the CPU time", percent(*share)),
            Self::SmtSiblingsShared { cpu, sibling } => {
                format!("CPUs {cpu} and {sibling} are two threads of one core: each slows the other")
            }
            Self::RealtimeThrottling { runtime_us, period_us } => {
                format!("real-time threads are stopped after {runtime_us} µs of each {period_us} µs")
            }
            Self::Autogroup => "the scheduler groups threads by session: nice values count only inside one".to_owned(),
            Self::ClockCost { share, what } => format!("reading the clock costs {} of {what}", percent(*share)),
            Self::ClockFallback { reason } => format!("the CPU's counter is not used: {reason}"),
            Self::BelowResolution { what, resolution_ns } => {
                format!("{what} is below its resolution of {resolution_ns:.2} ns")
            }
            Self::CpuQuota { cpus } => format!("the control group grants the time of {cpus} CPUs and stops us beyond"),
            Self::Interrupted { measured_s, planned_s } => {
                format!("interrupted after {measured_s:.1} s of {planned_s:.1} s")
            }
            Self::FewSamples { what, count } => format!("only {count} samples of {what}"),
            Self::MemoryNotLocked { reason } => format!("the recorder's memory could not be locked: {reason}"),
            Self::FrequencyChanging { governor } => {
                format!("the clock frequency may change while measuring: the governor is {governor}")
            }
            Self::BufferFull { what } => {
                format!("the buffer of {what} was full: what came later is not in its figures")
            }
            Self::LeftOut { what, reason } => format!("{what} was not measured: {reason}"),
            Self::ExperimentFailed { experiment, reason } => format!("the experiment {experiment} failed: {reason}"),
            Self::Extrapolated { what, supported } => {
                format!("{what} is extrapolated: the recording supports {supported}")
            }
            Self::StepShorterThanGap { step_us, longest_gap_us } => {
                format!("the longest gap of {longest_gap_us:.1} µs lasts longer than a step of {step_us:.1} µs")
            }
            Self::ThreadsExceedCpus { threads, cpus } => {
                format!("{threads} threads take turns on {cpus} CPUs: waiting for a CPU is part of the figures")
            }
            Self::WeakerEvidence { source, reason } => {
                format!("the kernel's record of the CPUs cannot be read ({reason}): {}", source.tells())
            }
            Self::NoInterruptEvidence { reason } => format!("interrupts are not recorded, or not all: {reason}"),
            Self::EvidenceLost { reports, blind_share } => {
                format!("the kernel lost {reports} reports: nothing is known of {} of the time", percent(*blind_share))
            }
            Self::TickAccountingLies { cpu, proc_stat_share, load_share } => {
                let (told, measured) = (percent(*proc_stat_share), percent(*load_share));
                format!("/proc/stat has {told} of load on CPU {cpu} where {measured} were measured")
            }
            Self::MeterDisturbs { share } => format!("the meter takes {} of the CPUs from the load", percent(*share)),
            Self::PriorityRefused { wanted, reason } => {
                format!("no thread may have priority {wanted} ({reason}): idle was measured instead")
            }
            Self::NotKept { reason } => format!("this record is not in the archive: {reason}"),
        }
    }

    /// What can be done about it: a flag, a file, a capability; or how to read the figures if nothing can.
    pub fn remedy(&self) -> String {
        let fixed = match self {
            Self::NoRealtimePriority { missing } => missing.remedy(),
            Self::NiceRefused { .. } => {
                "run `sudo setcap cap_sys_nice+ep $(command -v contend)`, or add the line `YOUR_USER - nice -20` to a file \
                 in /etc/security/limits.d and log in again; in a container start it with --cap-add SYS_NICE"
            }
            Self::NotConverged { .. } => "measure longer with --seconds, or on a quieter machine",
            Self::Steal { .. } => {
                "use a virtual machine with CPUs of its own, or bare metal; or measure when its host is idle"
            }
            Self::OtherLoad { .. } => "stop what else is running, or choose quieter CPUs with --cpus",
            Self::SmtSiblingsShared { .. } => {
                "choose CPUs of different cores with --cpus (lscpu --extended shows them), or switch SMT off: \
                 write off to /sys/devices/system/cpu/smt/control"
            }
            Self::RealtimeThrottling { .. } => {
                "`sudo sysctl kernel.sched_rt_runtime_us=-1` lifts it; a real-time thread that never sleeps can then \
                 hang its CPU"
            }
            Self::Autogroup => "`sudo sysctl kernel.sched_autogroup_enabled=0`",
            Self::ClockCost { .. } => "read the figure with the clock's cost beside it, or measure longer operations",
            Self::ClockFallback { .. } => {
                "use a machine whose counter is constant and agrees between CPUs (clock source tsc in \
                 /sys/devices/system/clocksource/clocksource0/current_clocksource); figures below 100 ns are coarser here"
            }
            Self::BelowResolution { .. } => {
                "read it as an upper bound, and compare only figures that are several steps apart"
            }
            Self::CpuQuota { .. } => {
                "raise the limit (cpu.max, cpu.cfs_quota_us, or the container's --cpus), or use fewer threads with --threads"
            }
            Self::Interrupted { .. } => "run it again to its end, or ask for less time with --seconds",
            Self::FewSamples { .. } => "measure longer with --seconds",
            Self::MemoryNotLocked { .. } => {
                "raise RLIMIT_MEMLOCK: `ulimit -l unlimited` as root, or the line `YOUR_USER - memlock unlimited` in a \
                 file in /etc/security/limits.d; or grant CAP_IPC_LOCK"
            }
            Self::FrequencyChanging { .. } => "`sudo cpupower frequency-set --governor performance`",
            Self::BufferFull { .. } => "measure for less time with --seconds",
            Self::LeftOut { .. } => "its figures are missing, neither good nor bad",
            Self::ExperimentFailed { .. } => {
                "run it alone to see whether it fails again, such as `contend noise`; the others' figures are good"
            }
            Self::Extrapolated { .. } => "record for longer, with `contend noise --seconds … --trace FILE`",
            Self::StepShorterThanGap { .. } => {
                "one gap costs several steps' time: read the mean beside the median, and believe the simulated barrier, \
                 whose steps follow each other, before the exact figure, whose steps begin at random moments"
            }
            Self::ThreadsExceedCpus { .. } => "use fewer --threads or --competitors, or more --cpus; or mean it",
            Self::WeakerEvidence { .. } => {
                "run it as root, or `sudo setcap cap_perfmon+ep $(command -v contend)`; in a container start it with \
                 --cap-add PERFMON and a seccomp profile that allows perf_event_open; if memory is what is refused, raise \
                 `ulimit -l`"
            }
            Self::NoInterruptEvidence { .. } => {
                "run it as root, or let your group read tracefs: `sudo mount -t tracefs -o gid=$(id -g),mode=750 tracefs \
                 /sys/kernel/tracing` (with -o remount,… where it is mounted)"
            }
            Self::EvidenceLost { .. } => {
                "read the explained share as a lower bound; root, or a higher kernel.perf_event_mlock_kb, allows larger \
                 buffers"
            }
            Self::TickAccountingLies { .. } => {
                "the load follows the tick, or avoids it: believe the measured figure here, and cgroup or per-task CPU \
                 times elsewhere, which are exact; a kernel with CONFIG_VIRT_CPU_ACCOUNTING_GEN does not ask the tick"
            }
            Self::MeterDisturbs { .. } => {
                "give it a control group that weighs nothing: `systemd-run --scope -p CPUWeight=idle contend load`"
            }
            Self::PriorityRefused { .. } => {
                "run `sudo setcap cap_sys_nice+ep $(command -v contend)`, or raise the limit with the line \
                 `YOUR_USER - nice -20` in a file in /etc/security/limits.d and log in again; in a container start it \
                 with --cap-add SYS_NICE"
            }
            Self::NotKept { .. } => {
                "the figures are good; name an archive with --archive or CONTEND_ARCHIVE, write the record with \
                 --format json --output FILE, or keep nothing with --no-keep"
            }
        };
        fixed.to_owned()
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The fields as derived, then the texts.
        #[derive(Serialize)]
        struct Recorded<'a> {
            #[serde(flatten, serialize_with = "Warning::serialize")]
            warning: &'a Warning,
            message: String,
            remedy: String,
        }
        Recorded { warning: self, message: self.message(), remedy: self.remedy() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Warning {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The derived function of the same name, which comes before the trait's; it ignores the two texts.
        Self::deserialize(deserializer)
    }
}

/// The warnings that are due before anything is measured, for a measurement on `cpus`: from the environment alone.
///
/// Real-time throttling concerns only who uses real-time threads: for that ask [`realtime_throttling`].
pub fn standing(environment: &Environment, cpus: &CpuSet) -> Vec<Warning> {
    let autogroup = (environment.kernel.autogroup == Some(true)).then_some(Warning::Autogroup);
    // A quota that covers all CPUs in use never stops anyone.
    let quota = environment.limits.cpu_quota_cpus.filter(|&quota| quota < cpus.len() as f64);
    let governor = environment.cpu.governor.clone().filter(|governor| governor != "performance");
    shared_siblings(environment, cpus)
        .chain(autogroup)
        .chain(quota.map(|cpus| Warning::CpuQuota { cpus }))
        .chain(governor.map(|governor| Warning::FrequencyChanging { governor }))
        .collect()
}

/// For each core with several of `cpus`: its first with each further one.
fn shared_siblings(environment: &Environment, cpus: &CpuSet) -> impl Iterator<Item = Warning> {
    environment.cpu.cores.iter().map(|core| core.intersection(cpus)).flat_map(|used| {
        let pairs: Vec<_> = used.iter().skip(1).filter_map(|sibling| Some((used.first()?, sibling))).collect();
        pairs.into_iter().map(|(cpu, sibling)| Warning::SmtSiblingsShared { cpu, sibling })
    })
}

/// The warning for a measurement that uses real-time threads, if the kernel throttles them.
pub fn realtime_throttling(environment: &Environment) -> Option<Warning> {
    let runtime_us = environment.kernel.rt_runtime_us.filter(|&runtime| runtime >= 0)?;
    Some(Warning::RealtimeThrottling { runtime_us, period_us: environment.kernel.rt_period_us? })
}

/// The share of other processes above which [`disturbances`] warns. A quiet machine stays below it.
pub const OTHER_LOAD_SHARE: f64 = 0.02;

/// The warnings that are due after measuring: from what became of the CPUs' time meanwhile.
///
/// What is not above the resolution of the kernel's own account is not said.
pub fn disturbances(activity: &ActivityShare) -> Vec<Warning> {
    let (steal, other) = (activity.steal_share, activity.other_share);
    let steal = (steal > activity.resolution_share * ROUNDING).then_some(Warning::Steal { share: steal });
    let floor = OTHER_LOAD_SHARE.max(2.0 * activity.resolution_share * ROUNDING);
    let other = (other > floor).then_some(Warning::OtherLoad { share: other });
    steal.into_iter().chain(other).collect()
}

/// Keeps a single jiffy, which may belong to a moment before, from counting as more than one by rounding.
const ROUNDING: f64 = 1.0 + 1e-9;
