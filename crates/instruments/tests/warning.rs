//! Every warning says its figure and has a remedy, and comes when it is due.

use instruments::cpus::CpuSet;
use instruments::cpus::priority::Missing;
use instruments::environment::{ActivityShare, Environment};
use instruments::evidence::Source;
use instruments::warning::{Warning, disturbances, realtime_throttling, standing};

/// One of each kind, with what its message must say.
fn samples() -> Vec<(Warning, &'static str)> {
    let what = || "p99".to_owned();
    vec![
        (Warning::NoRealtimePriority { missing: Missing::Capability }, "CAP_SYS_NICE"),
        (Warning::NotConverged { what: what(), relative_width: 0.071, target: 0.02 }, "7.10 %"),
        (Warning::Steal { share: 0.031 }, "3.10 %"),
        (Warning::OtherLoad { share: 0.5 }, "50.00 %"),
        (Warning::SmtSiblingsShared { cpu: 3, sibling: 67 }, "3 and 67"),
        (Warning::RealtimeThrottling { runtime_us: 950_000, period_us: 1_000_000 }, "950000 µs of each 1000000 µs"),
        (Warning::Autogroup, "session"),
        (Warning::ClockCost { share: 0.125, what: what() }, "12.50 % of p99"),
        (Warning::ClockFallback { reason: "it ran backwards".to_owned() }, "it ran backwards"),
        (Warning::BelowResolution { what: what(), resolution_ns: 10.5 }, "10.50 ns"),
        (Warning::CpuQuota { cpus: 0.5 }, "0.5 CPUs"),
        (Warning::Interrupted { measured_s: 1.25, planned_s: 5.0 }, "of 5.0 s"),
        (Warning::FewSamples { what: what(), count: 17 }, "17 samples of p99"),
        (Warning::MemoryNotLocked { reason: "Cannot allocate memory".to_owned() }, "Cannot allocate memory"),
        (Warning::FrequencyChanging { governor: "powersave".to_owned() }, "powersave"),
        (Warning::BufferFull { what: what() }, "p99"),
        (
            Warning::LeftOut { what: "ticket".into(), reason: "it only spins".into() },
            "ticket was not measured: it only spins",
        ),
        (
            Warning::ExperimentFailed { experiment: "ring".into(), reason: "no folder".into() },
            "experiment ring failed: no folder",
        ),
        (Warning::Extrapolated { what: what(), supported: "692 nodes".into() }, "supports 692 nodes"),
        (Warning::StepShorterThanGap { step_us: 100.0, longest_gap_us: 2_500.0 }, "2500.0 µs lasts longer"),
        (Warning::ThreadsExceedCpus { threads: 5, cpus: 2 }, "5 threads take turns on 2 CPUs"),
        (
            Warning::WeakerEvidence { source: Source::ThreadRecord, reason: "Permission denied".into() },
            "(Permission denied): switches are seen, but not to whom",
        ),
        (Warning::NoInterruptEvidence { reason: "no tracefs".into() }, "no tracefs"),
        (Warning::EvidenceLost { reports: 71, blind_share: 0.25 }, "lost 71 reports: nothing is known of 25.00 %"),
        (
            Warning::TickAccountingLies { cpu: 1, proc_stat_share: 0.0, load_share: 0.884 },
            "0.00 % of load on CPU 1 where 88.40 % were measured",
        ),
        (Warning::MeterDisturbs { share: 0.031 }, "3.10 % of the CPUs"),
        (Warning::PriorityRefused { wanted: "nice -5".into(), reason: "EPERM".into() }, "priority nice -5 (EPERM)"),
        (Warning::NotKept { reason: "no space left".into() }, "not in the archive: no space left"),
    ]
}

#[test]
fn every_message_names_its_figure_and_every_warning_has_a_remedy() {
    for (warning, figure) in samples() {
        assert!(warning.message().contains(figure), "{}: {}", warning.code(), warning.message());
        assert!(!warning.remedy().is_empty(), "{}", warning.code());
        for text in [warning.message(), warning.remedy()] {
            assert!(!text.contains('\n') && !text.contains("  ") && !text.ends_with('.'), "{text:?}");
        }
    }
}

#[test]
fn codes_are_unique() {
    let mut codes: Vec<_> = samples().iter().map(|(warning, _)| warning.code()).collect();
    let all = codes.len();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), all);
}

/// A machine about which nothing is known.
fn blank() -> Environment {
    Environment::probe_under(std::path::Path::new("/nonexistent"))
}

fn set(list: &str) -> CpuSet {
    list.parse().unwrap()
}

#[test]
fn nothing_known_is_nothing_to_warn_of() {
    assert_eq!(standing(&blank(), &set("0-1")), []);
    assert_eq!(realtime_throttling(&blank()), None);
}

#[test]
fn siblings_are_warned_of_only_if_both_are_used() {
    let mut environment = blank();
    environment.cpu.cores = vec![set("0,4"), set("1,5")];
    assert_eq!(standing(&environment, &set("0,1")), []);
    assert_eq!(standing(&environment, &set("0,4-5")), [Warning::SmtSiblingsShared { cpu: 0, sibling: 4 }]);
}

#[test]
fn a_quota_is_warned_of_only_if_the_cpus_can_exceed_it() {
    let mut environment = blank();
    environment.limits.cpu_quota_cpus = Some(1.5);
    assert_eq!(standing(&environment, &set("0")), []);
    assert_eq!(standing(&environment, &set("0,1")), [Warning::CpuQuota { cpus: 1.5 }]);
}

#[test]
fn autogroup_and_governor_are_warned_of() {
    let mut environment = blank();
    environment.kernel.autogroup = Some(true);
    environment.cpu.governor = Some("schedutil".to_owned());
    let governor = Warning::FrequencyChanging { governor: "schedutil".to_owned() };
    assert_eq!(standing(&environment, &set("0")), [Warning::Autogroup, governor]);
    environment.kernel.autogroup = Some(false);
    environment.cpu.governor = Some("performance".to_owned());
    assert_eq!(standing(&environment, &set("0")), []);
}

#[test]
fn throttling_is_warned_of_when_asked_and_limited() {
    let mut environment = blank();
    (environment.kernel.rt_runtime_us, environment.kernel.rt_period_us) = (Some(950_000), Some(1_000_000));
    let warning = Warning::RealtimeThrottling { runtime_us: 950_000, period_us: 1_000_000 };
    assert_eq!(realtime_throttling(&environment), Some(warning));
    assert_eq!(standing(&environment, &set("0")), []);
    environment.kernel.rt_runtime_us = Some(-1);
    assert_eq!(realtime_throttling(&environment), None);
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
    let disturbed = ActivityShare { steal_share: 0.02, other_share: 0.3, ..quiet };
    assert_eq!(disturbances(&disturbed), [Warning::Steal { share: 0.02 }, Warning::OtherLoad { share: 0.3 }]);
}
