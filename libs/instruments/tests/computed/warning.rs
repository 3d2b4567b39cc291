//! Conditions of the warnings.

use instruments::cpus::CpuSet;
use instruments::cpus::realtime::Missing;
use instruments::environment::{ActivityShare, Environment, ProbedPair, ProbedPairs};
use instruments::evidence::{EvidenceLost, NoInterruptEvidence, Source, WeakerEvidence};
use instruments::warning::{
    Autogroup, BufferFull, ClockFallback, CpuQuota, FewSamples, FrequencyChanging, Interrupted, LeftOut,
    MemoryNotLocked, NiceRefused, NoRealtimePriority, NotConverged, OtherLoad, PriorityRefused, Probed,
    RealtimeThrottling, SmtSiblingsShared, Steal, Warning, disturbances, realtime_throttling, standing,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

/// Returns the environment of a machine without any information.
fn blank() -> Environment {
    Environment::probe_under(std::path::Path::new("/nonexistent"))
}

fn set(list: &str) -> CpuSet {
    list.parse().unwrap()
}

/// 22:19 UTC.
const NOW: u64 = 20_000 * 86_400 + 22 * 3_600 + 19 * 60;

#[test]
fn unknown_environment_gives_no_warning() {
    assert_eq!(standing(&blank(), &set("0-1"), NOW), []);
    assert_eq!(realtime_throttling(&blank(), 1.0), None);
}

#[test]
fn siblings_are_warned_of_only_if_both_are_used() {
    let mut environment = blank();
    environment.cpu.cores = vec![set("0,4"), set("1,5")];
    assert_eq!(standing(&environment, &set("0,1"), NOW), []);
    assert_eq!(
        standing(&environment, &set("0,4-5"), NOW),
        [SmtSiblingsShared { cpu: 0, sibling: 4, probed: None }.into()]
    );
}

#[test]
fn measured_pairs_precede_the_kernel_topology() {
    let mut environment = blank();
    environment.cpu.cores = vec![set("0"), set("1"), set("2,3")];
    let pair = |one, other, share_a_core| ProbedPair { cpus: [one, other], share_a_core, probed_unix_s: None };
    let pairs = vec![pair(0, 1, true), pair(0, 2, false), pair(2, 3, false)];
    // At 22:07 UTC, 12 minutes ago.
    let at = Probed { probed_unix_s: NOW - 720, probed_age_s: 720 };
    environment.cpu.probed = Some(ProbedPairs { probed_unix_s: at.probed_unix_s, pairs });
    let warnings = standing(&environment, &set("0-3"), NOW);
    assert_eq!(warnings, [SmtSiblingsShared { cpu: 0, sibling: 1, probed: Some(at) }.into()]);
    assert!(warnings[0].message().contains("as probed at 22:07 UTC, 12 min ago"), "{}", warnings[0].message());
    assert_eq!(warnings[0].field("probed_age_s"), Some(&720.into()));
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
fn measured_pairs_hold_for_a_while_or_until_contradicted() {
    let probe = |probed_unix_s, share_a_core| ProbedPairs {
        probed_unix_s,
        pairs: vec![ProbedPair { cpus: [0, 1], share_a_core, probed_unix_s: None }],
    };
    let holds = |measured: Vec<ProbedPairs>, cores: Option<&[CpuSet]>| {
        ProbedPairs::that_hold(measured, NOW, cores).map(|probed| probed.pairs[0].share_a_core)
    };
    let (recent, old) = (NOW - 60, NOW - ProbedPairs::HOLDS_S - 1);
    assert_eq!(holds(vec![probe(recent, true)], None), Some(true));
    assert_eq!(holds(vec![probe(old, true)], None), None, "the CPUs may have moved");
    assert_eq!(holds(vec![probe(NOW + 60, true)], None), None, "the clock was set back");
    for both in [[(recent, false), (recent - 60, true)], [(recent - 60, true), (recent, false)]] {
        let both = both.map(|(at, share_a_core)| probe(at, share_a_core)).to_vec();
        assert_eq!(holds(both, None), Some(false), "the later probe counts");
    }
    let apart = [set("0"), set("1")];
    assert_eq!(holds(vec![probe(recent, true)], Some(&apart)), None, "the kernel knows better");
    assert_eq!(holds(vec![probe(recent, true)], Some(&[set("0-1")])), Some(true));
    // A pair that an earlier run measured keeps its time.
    let merged = ProbedPairs { probed_unix_s: NOW, pairs: Vec::new() };
    let earlier = ProbedPairs::that_hold([probe(recent, true)], NOW, None).unwrap();
    let merged = ProbedPairs::that_hold([merged.beside(Some(&earlier))], NOW + ProbedPairs::HOLDS_S, None);
    assert_eq!(merged, None);
}

#[test]
fn quota_warning_requires_cpus_that_can_exceed_it() {
    let mut environment = blank();
    environment.limits.cpu_quota_cpus = Some(1.5);
    assert_eq!(standing(&environment, &set("0"), NOW), []);
    assert_eq!(standing(&environment, &set("0,1"), NOW), [CpuQuota { cpus: 1.5 }.into()]);
}

#[test]
fn autogroup_and_governor_are_warned_of() {
    let mut environment = blank();
    environment.kernel.autogroup = Some(true);
    environment.cpu.governor = Some("schedutil".to_owned());
    let governor = FrequencyChanging { governor: "schedutil".to_owned() }.into();
    assert_eq!(standing(&environment, &set("0"), NOW), [Autogroup.into(), governor]);
    environment.kernel.autogroup = Some(false);
    environment.cpu.governor = Some("performance".to_owned());
    assert_eq!(standing(&environment, &set("0"), NOW), []);
}

#[test]
fn throttling_warning_requires_more_use_than_granted() {
    let mut environment = blank();
    (environment.kernel.rt_runtime_us, environment.kernel.rt_period_us) = (Some(950_000), Some(1_000_000));
    let warning = RealtimeThrottling { runtime_us: 950_000, period_us: 1_000_000 }.into();
    assert_eq!(realtime_throttling(&environment, 0.96), Some(warning));
    assert_eq!(realtime_throttling(&environment, 0.9), None);
    assert_eq!(standing(&environment, &set("0"), NOW), []);
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

// A warning in a record has its code, its fields and its texts, and is read back whatever its kind.

/// Returns one warning of each kind.
fn samples() -> Vec<Warning> {
    let what = || "p99".to_owned();
    vec![
        NoRealtimePriority { missing: Missing::Capability }.into(),
        NiceRefused { wanted: -5, granted: 0 }.into(),
        PriorityRefused { wanted: "nice -5".into(), reason: "EPERM".into() }.into(),
        MemoryNotLocked { reason: "Cannot allocate memory".into() }.into(),
        Steal { share: 0.031 }.into(),
        OtherLoad { share: 0.5 }.into(),
        SmtSiblingsShared { cpu: 3, sibling: 67, probed: None }.into(),
        CpuQuota { cpus: 0.5 }.into(),
        FrequencyChanging { governor: "powersave".into() }.into(),
        RealtimeThrottling { runtime_us: 950_000, period_us: 1_000_000 }.into(),
        Autogroup.into(),
        ClockFallback { reason: "it ran backwards".into() }.into(),
        NotConverged { what: what(), relative_width: 0.071, target: 0.02 }.into(),
        Interrupted { measured_s: 1.25, planned_s: Some(5.0) }.into(),
        FewSamples { what: what(), count: 17 }.into(),
        BufferFull { what: what() }.into(),
        LeftOut { what: "ticket".into(), reason: "it only spins".into() }.into(),
        WeakerEvidence { source: Source::ThreadRecord, reason: "Permission denied".into() }.into(),
        NoInterruptEvidence { reason: "no tracefs".into() }.into(),
        EvidenceLost { reports: 71, blind_share: 0.25 }.into(),
    ]
}

/// Records are kept for years, and compared by programs: their contents must not change by accident.
#[test]
fn every_kind_is_serialised_as_before() {
    let recorded: Vec<String> = samples().iter().map(|warning| serde_json::to_string(warning).unwrap()).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/computed/warnings.jsonl");
    if std::env::var_os("CONTEND_RENEW").is_some() {
        std::fs::write(&file, recorded.join("\n") + "\n").unwrap();
    }
    let kept = std::fs::read_to_string(file).unwrap();
    assert_eq!(recorded, kept.lines().collect::<Vec<&str>>());
}

#[test]
fn texts_are_single_sentences_and_codes_are_unique() {
    for warning in samples() {
        for text in [warning.message(), warning.remedy()] {
            assert!(
                !text.is_empty() && !text.contains('\n') && !text.contains("  ") && !text.ends_with('.'),
                "{text:?}"
            );
        }
    }
    let mut codes: Vec<_> = samples().iter().map(|warning| warning.code().to_owned()).collect();
    let all = codes.len();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), all);
}

#[test]
fn a_warning_knows_its_kind_and_its_fields() {
    let warning = Warning::from(SmtSiblingsShared { cpu: 0, sibling: 1, probed: None });
    assert!(warning.is::<SmtSiblingsShared>() && !warning.is::<Steal>());
    assert_eq!((warning.field("sibling"), warning.field("message")), (Some(&json!(1)), None));
}

/// A warning of another version, or of a crate that this program does not know.
#[test]
fn unknown_warning_is_preserved() {
    let text = r#"{"code":"gremlins","z":[1,2.5],"a":null,"message":"they are in","remedy":"a torch"}"#;
    let warning: Warning = serde_json::from_str(text).unwrap();
    assert_eq!((warning.code(), warning.message(), warning.remedy()), ("gremlins", "they are in", "a torch"));
    assert_eq!(warning.field("z"), Some(&json!([1, 2.5])));
    assert_eq!(serde_json::to_string(&warning).unwrap(), text);
}

#[test]
fn recorded_warning_keeps_its_texts() {
    let old = json!({"code": "steal", "share": 0.5, "message": "the host took half", "remedy": "another host"});
    let warning: Warning = serde_json::from_value(old).unwrap();
    assert!(warning.is::<Steal>());
    assert_eq!((warning.message(), warning.remedy()), ("the host took half", "another host"));
    let bare: Warning = serde_json::from_value(json!({"code": "steal"})).unwrap();
    assert_eq!((bare.message(), bare.remedy()), ("warning `steal` of another version", "not recorded"));
}

#[test]
fn object_without_a_code_is_not_a_warning() {
    for value in [Value::Null, json!({"message": "", "remedy": ""}), json!({"code": 7})] {
        assert!(serde_json::from_value::<Warning>(value).is_err());
    }
}

/// Returns values with few digits, for which the JSON parser is exact to the last bit.
fn figure() -> impl Strategy<Value = f64> {
    (0..=10_000_u32).prop_map(|figure| f64::from(figure) / 1000.0)
}

/// Returns warnings with fields of every type.
fn warning() -> impl Strategy<Value = Warning> {
    prop_oneof![
        ".*".prop_map(|reason| NoRealtimePriority { missing: Missing::Refused { reason } }.into()),
        (".*", figure(), figure()).prop_map(|(what, relative_width, target)| NotConverged {
            what,
            relative_width,
            target
        }
        .into()),
        any::<(i64, u64)>().prop_map(|(runtime_us, period_us)| RealtimeThrottling { runtime_us, period_us }.into()),
        any::<(i32, i32)>().prop_map(|(wanted, granted)| NiceRefused { wanted, granted }.into()),
        ".*".prop_map(|reason| WeakerEvidence { source: Source::Account, reason }.into()),
        Just(Autogroup.into()),
    ]
}

proptest! {
    #[test]
    fn warning_survives_serialisation(warning in warning()) {
        let json = serde_json::to_string(&warning).unwrap();
        prop_assert_eq!(serde_json::from_str::<Warning>(&json).unwrap(), warning);
    }
}

// The environment survives serialisation.

#[test]
fn environment_of_this_machine_survives_serialisation() {
    let environment = Environment::probe();
    let json = serde_json::to_string(&environment).unwrap();
    // Compared as JSON: the parser may miss the last bit of a value such as a quota of a third of a CPU.
    let back: Environment = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), json);
}

#[test]
fn unknown_values_are_null_and_cpu_sets_are_lists() {
    let mut environment = Environment::probe_under(std::path::Path::new("/nonexistent"));
    environment.cpu.online = Some("0-3,8".parse().unwrap());
    let json = serde_json::to_value(&environment).unwrap();
    assert_eq!(json["cpu"]["online"], "0-3,8");
    assert_eq!(json["kernel"]["hz"], Value::Null);
    assert_eq!(serde_json::from_value::<Environment>(json).unwrap(), environment);
}
