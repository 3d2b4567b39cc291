//! Conditions of the warnings.

use instruments::cpus::CpuSet;
use instruments::environment::{ActivityShare, Environment, ProbedPair, ProbedPairs};
use instruments::warning::{
    Autogroup, CpuQuota, FrequencyChanging, OtherLoad, RealtimeThrottling, SmtSiblingsShared, Steal, disturbances,
    realtime_throttling, standing,
};

/// Returns the environment of a machine without any information.
fn blank() -> Environment {
    Environment::probe_under(std::path::Path::new("/nonexistent"))
}

fn set(list: &str) -> CpuSet {
    list.parse().unwrap()
}

#[test]
fn unknown_environment_gives_no_warning() {
    assert_eq!(standing(&blank(), &set("0-1")), []);
    assert_eq!(realtime_throttling(&blank(), 1.0), None);
}

#[test]
fn siblings_are_warned_of_only_if_both_are_used() {
    let mut environment = blank();
    environment.cpu.cores = vec![set("0,4"), set("1,5")];
    assert_eq!(standing(&environment, &set("0,1")), []);
    assert_eq!(standing(&environment, &set("0,4-5")), [SmtSiblingsShared { cpu: 0, sibling: 4 }.into()]);
}

#[test]
fn measured_pairs_precede_the_kernel_topology() {
    let mut environment = blank();
    environment.cpu.cores = vec![set("0"), set("1"), set("2,3")];
    let pair = |one, other, share_a_core| ProbedPair { cpus: [one, other], share_a_core };
    let pairs = vec![pair(0, 1, true), pair(0, 2, false), pair(2, 3, false)];
    environment.cpu.probed = Some(ProbedPairs { probed_unix_s: 1, pairs });
    assert_eq!(standing(&environment, &set("0-3")), [SmtSiblingsShared { cpu: 0, sibling: 1 }.into()]);
    // One CPU of each core first, then the second threads.
    assert_eq!(environment.cpu.spread(&set("0-3")), [0, 2, 3, 1]);
    assert_eq!(environment.cpu.first_core(&set("0-3")), [0, 1]);
    assert_eq!(environment.cpu.first_core(&set("1-3")), [1]);
    assert_eq!(environment.cpu.probed.as_ref().unwrap().words(), "CPUs 0 and 1 share a core (probed)");
    environment.cpu.probed = None;
    assert_eq!(environment.cpu.spread(&set("0-3")), [0, 1, 2, 3]);
    assert_eq!(environment.cpu.first_core(&set("2-3")), [2, 3]);
}

#[test]
fn quota_warning_requires_cpus_that_can_exceed_it() {
    let mut environment = blank();
    environment.limits.cpu_quota_cpus = Some(1.5);
    assert_eq!(standing(&environment, &set("0")), []);
    assert_eq!(standing(&environment, &set("0,1")), [CpuQuota { cpus: 1.5 }.into()]);
}

#[test]
fn autogroup_and_governor_are_warned_of() {
    let mut environment = blank();
    environment.kernel.autogroup = Some(true);
    environment.cpu.governor = Some("schedutil".to_owned());
    let governor = FrequencyChanging { governor: "schedutil".to_owned() }.into();
    assert_eq!(standing(&environment, &set("0")), [Autogroup.into(), governor]);
    environment.kernel.autogroup = Some(false);
    environment.cpu.governor = Some("performance".to_owned());
    assert_eq!(standing(&environment, &set("0")), []);
}

#[test]
fn throttling_warning_requires_more_use_than_granted() {
    let mut environment = blank();
    (environment.kernel.rt_runtime_us, environment.kernel.rt_period_us) = (Some(950_000), Some(1_000_000));
    let warning = RealtimeThrottling { runtime_us: 950_000, period_us: 1_000_000 }.into();
    assert_eq!(realtime_throttling(&environment, 0.96), Some(warning));
    assert_eq!(realtime_throttling(&environment, 0.9), None);
    assert_eq!(standing(&environment, &set("0")), []);
    environment.kernel.rt_runtime_us = Some(-1);
    assert_eq!(realtime_throttling(&environment, 1.0), None);
}

#[test]
fn disturbances_below_the_resolution_are_not_claimed() {
    let quiet = ActivityShare {
        wall_s: 1.0,
        own_share: 0.98,
        steal_share: 0.01,
        other_share: 0.01,
        idle_share: 0.0,
        interrupt_share: 0.0,
        resolution_share: 0.01,
    };
    assert_eq!(disturbances(&quiet), []);
    // Steal on an account of fine steps, but too little to change a p99.
    let trivial = ActivityShare { steal_share: 0.0003, resolution_share: 1e-5, ..quiet };
    assert_eq!(disturbances(&trivial), []);
    let disturbed = ActivityShare { steal_share: 0.02, other_share: 0.3, ..quiet };
    assert_eq!(disturbances(&disturbed), [Steal { share: 0.02 }.into(), OtherLoad { share: 0.3 }.into()]);
}
