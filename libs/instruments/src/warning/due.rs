//! The warnings that follow from the environment alone, before and after a measurement.

use super::machine::{Autogroup, CpuQuota, FrequencyChanging, OtherLoad, RealtimeThrottling, SmtSiblingsShared, Steal};
use super::value::Warning;
use crate::cpus::CpuSet;
use crate::environment::{ActivityShare, Environment};

/// Returns the warnings for a measurement on `cpus` that follow from the environment before the measurement.
///
/// Real-time throttling matters only to measurements with real-time threads: see [`realtime_throttling`].
pub fn standing(environment: &Environment, cpus: &CpuSet) -> Vec<Warning> {
    let autogroup = (environment.kernel.autogroup == Some(true)).then(|| Autogroup.into());
    // A quota that covers all CPUs in use never stops a thread.
    let quota = environment.limits.cpu_quota_cpus.filter(|&quota| quota < cpus.len() as f64);
    let governor = environment.cpu.governor.clone().filter(|governor| governor != "performance");
    shared_siblings(environment, cpus)
        .into_iter()
        .chain(autogroup)
        .chain(quota.map(|cpus| CpuQuota { cpus }.into()))
        .chain(governor.map(|governor| FrequencyChanging { governor }.into()))
        .collect()
}

/// Returns, for each core with several of `cpus`, the pairs of its first CPU with each further one.
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
