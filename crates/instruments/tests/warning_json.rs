//! A warning in a record carries its code, its texts and its fields, and can be read back.

use instruments::cpus::priority::Missing;
use instruments::evidence::Source;
use instruments::warning::Warning;
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn a_recorded_warning_has_its_fields_then_its_texts() {
    let warning = Warning::SmtSiblingsShared { cpu: 0, sibling: 1 };
    let json = serde_json::to_value(&warning).unwrap();
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["code", "cpu", "sibling", "message", "remedy"]);
    let json = serde_json::to_value(Warning::NoRealtimePriority { missing: Missing::Capability }).unwrap();
    assert_eq!(json["missing"], json!({"kind": "capability"}));
}

#[test]
fn an_unknown_code_is_refused() {
    let error = serde_json::from_value::<Warning>(json!({"code": "gremlins", "message": "", "remedy": ""}));
    assert!(error.unwrap_err().to_string().contains("gremlins"));
    assert!(serde_json::from_value::<Warning>(Value::Null).is_err());
}

/// Figures with few enough digits that the JSON parser, which is exact to the last bit only for those, returns them.
fn figure() -> impl Strategy<Value = f64> {
    (0..=10_000_u32).prop_map(|figure| f64::from(figure) / 1000.0)
}

fn missing() -> impl Strategy<Value = Missing> {
    prop_oneof![
        Just(Missing::Capability),
        Just(Missing::UserNamespace),
        Just(Missing::GroupBudget),
        ".*".prop_map(|reason| Missing::Refused { reason }),
    ]
}

fn source() -> impl Strategy<Value = Source> {
    use Source::{Account, CpuRecord, None, PreemptionFlag, ThreadRecord};
    prop::sample::select(vec![CpuRecord, ThreadRecord, PreemptionFlag, Account, None])
}

/// Warnings of every kind.
fn warning() -> impl Strategy<Value = Warning> {
    let number = || 0..100_000_usize;
    prop_oneof![
        missing().prop_map(|missing| Warning::NoRealtimePriority { missing }),
        (".*", figure(), figure()).prop_map(|(what, relative_width, target)| Warning::NotConverged {
            what,
            relative_width,
            target
        }),
        figure().prop_map(|share| Warning::Steal { share }),
        figure().prop_map(|share| Warning::OtherLoad { share }),
        (number(), number()).prop_map(|(cpu, sibling)| Warning::SmtSiblingsShared { cpu, sibling }),
        any::<(i64, u64)>().prop_map(|(runtime_us, period_us)| Warning::RealtimeThrottling { runtime_us, period_us }),
        Just(Warning::Autogroup),
        (figure(), ".*").prop_map(|(share, what)| Warning::ClockCost { share, what }),
        ".*".prop_map(|reason| Warning::ClockFallback { reason }),
        (".*", figure()).prop_map(|(what, resolution_ns)| Warning::BelowResolution { what, resolution_ns }),
        figure().prop_map(|cpus| Warning::CpuQuota { cpus }),
        (figure(), figure()).prop_map(|(measured_s, planned_s)| Warning::Interrupted { measured_s, planned_s }),
        (".*", any::<u64>()).prop_map(|(what, count)| Warning::FewSamples { what, count }),
        ".*".prop_map(|reason| Warning::MemoryNotLocked { reason }),
        ".*".prop_map(|governor| Warning::FrequencyChanging { governor }),
        ".*".prop_map(|what| Warning::BufferFull { what }),
        (".*", ".*").prop_map(|(what, reason)| Warning::LeftOut { what, reason }),
        (".*", ".*").prop_map(|(experiment, reason)| Warning::ExperimentFailed { experiment, reason }),
        (".*", ".*").prop_map(|(what, supported)| Warning::Extrapolated { what, supported }),
        (figure(), figure())
            .prop_map(|(step_us, longest_gap_us)| Warning::StepShorterThanGap { step_us, longest_gap_us }),
        (number(), number()).prop_map(|(threads, cpus)| Warning::ThreadsExceedCpus { threads, cpus }),
        (source(), ".*").prop_map(|(source, reason)| Warning::WeakerEvidence { source, reason }),
        ".*".prop_map(|reason| Warning::NoInterruptEvidence { reason }),
        (any::<u64>(), figure()).prop_map(|(reports, blind_share)| Warning::EvidenceLost { reports, blind_share }),
    ]
}

proptest! {
    #[test]
    fn a_warning_survives_being_recorded(warning in warning()) {
        let json: Value = serde_json::from_str(&serde_json::to_string(&warning).unwrap()).unwrap();
        prop_assert_eq!(&json["code"], warning.code());
        prop_assert_eq!(&json["message"], &warning.message());
        prop_assert_eq!(&json["remedy"], &warning.remedy());
        prop_assert_eq!(serde_json::from_value::<Warning>(json).unwrap(), warning);
    }
}
