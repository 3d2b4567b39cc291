//! A warning in a record has its code, its fields and its texts, and is read back whatever its kind.

use instruments::cpus::realtime::Missing;
use instruments::evidence::{EvidenceLost, NoInterruptEvidence, Source, WeakerEvidence};
use instruments::warning::{
    Autogroup, BufferFull, ClockFallback, CpuQuota, FewSamples, FrequencyChanging, Interrupted, LeftOut,
    MemoryNotLocked, NiceRefused, NoRealtimePriority, NotConverged, OtherLoad, PriorityRefused, RealtimeThrottling,
    SmtSiblingsShared, Steal, Warning,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

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
        SmtSiblingsShared { cpu: 3, sibling: 67 }.into(),
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
    let warning = Warning::from(SmtSiblingsShared { cpu: 0, sibling: 1 });
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
