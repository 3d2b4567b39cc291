//! The warnings that are due from the environment alone, before and after measuring.

use super::machine::{Autogroup, CpuQuota, FrequencyChanging, OtherLoad, RealtimeThrottling, SmtSiblingsShared, Steal};
use super::value::Warning;
use crate::cpus::CpuSet;
use crate::environment::{ActivityShare, Environment};

/// The warnings that are due before anything is measured, for a measurement on `cpus`: from the environment alone.
///
/// Real-time throttling concerns only who uses real-time threads: for that ask [`realtime_throttling`].
pub fn standing(environment: &Environment, cpus: &CpuSet) -> Vec<Warning> {
    let autogroup = (environment.kernel.autogroup == Some(true)).then(|| Autogroup.into());
    // A quota that covers all CPUs in use never stops anyone.
    let quota = environment.limits.cpu_quota_cpus.filter(|&quota| quota < cpus.len() as f64);
    let governor = environment.cpu.governor.clone().filter(|governor| governor != "performance");
    shared_siblings(environment, cpus)
        .into_iter()
        .chain(autogroup)
        .chain(quota.map(|cpus| CpuQuota { cpus }.into()))
        .chain(governor.map(|governor| FrequencyChanging { governor }.into()))
        .collect()
}

/// For each core with several of `cpus`: its first with each further one.
fn shared_siblings(environment: &Environment, cpus: &CpuSet) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut left = cpus.clone();
    while let Some(cpu) = left.first() {
        let core: CpuSet = environment.cpu.first_core(&left).into_iter().collect();
        warnings.extend(core.iter().skip(1).map(|sibling| SmtSiblingsShared { cpu, sibling }.into()));
        left = left.iter().filter(|&cpu| !core.contains(cpu)).collect();
    }
    warnings
}

/// The warning for a measurement whose real-time threads use this share of their CPUs, if the kernel grants them less.
pub fn realtime_throttling(environment: &Environment, used_share: f64) -> Option<Warning> {
    let runtime_us = environment.kernel.rt_runtime_us.filter(|&runtime| runtime >= 0)?;
    let period_us = environment.kernel.rt_period_us?;
    let is_throttled = (runtime_us as f64) < used_share * period_us as f64;
    is_throttled.then(|| RealtimeThrottling { runtime_us, period_us }.into())
}

/// The share of other processes above which [`disturbances`] warns. A quiet machine stays below it.
pub const OTHER_LOAD_SHARE: f64 = 0.02;

/// The share of the hypervisor above which [`disturbances`] warns: less cannot be a hundredth of the latencies, so it
/// moves no median and no p99. The environment of a record has the share all the same.
pub const STEAL_SHARE: f64 = 0.01;

/// The warnings that are due after measuring: from the use of the CPUs' time since then.
///
/// A share that is not above the resolution of the kernel's own account is not reported.
pub fn disturbances(activity: &ActivityShare) -> Vec<Warning> {
    let (steal, other) = (activity.steal_share, activity.other_share);
    let floor = STEAL_SHARE.max(activity.resolution_share * ROUNDING);
    let steal = (steal > floor).then(|| Steal { share: steal }.into());
    let floor = OTHER_LOAD_SHARE.max(2.0 * activity.resolution_share * ROUNDING);
    let other = (other > floor).then(|| OtherLoad { share: other }.into());
    steal.into_iter().chain(other).collect()
}

/// Keeps a single jiffy, which may belong to a moment before, from counting as more than one by rounding.
const ROUNDING: f64 = 1.0 + 1e-9;
