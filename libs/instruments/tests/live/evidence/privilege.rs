//! The sources of kernel events with fewer capabilities.

use super::{attributed, clock, serialised};
use instruments::cpus::{self, CpuSet};
use instruments::evidence::{NoInterruptEvidence, Recorder, Source, WeakerEvidence};
use instruments::gaps;
use instruments::warning::Warning;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use std::thread;
use std::time::Duration;

/// Returns the source and the warnings of a thread with only these capabilities.
fn open_with_capabilities(capabilities: CapabilitySet) -> (Source, Vec<Warning>) {
    let only = CapabilitySets { effective: capabilities, permitted: capabilities, inheritable: CapabilitySet::empty() };
    thread::spawn(move || {
        set_capabilities(None, only).unwrap();
        let cpu = cpus::allowed().unwrap().first().unwrap();
        cpus::pin_current_thread(cpu).unwrap();
        let clock = clock();
        let mut recorder = Recorder::open(clock, &CpuSet::single(cpu));
        recorder.start().unwrap();
        let watch = gaps::watch(clock, Duration::from_millis(20));
        let timeline = recorder.stop().unwrap();
        assert!(attributed(&timeline, &watch).total() <= watch.span);
        (recorder.source(), recorder.warnings().to_vec())
    })
    .join()
    .unwrap()
}

fn is_root() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

#[test]
fn missing_privilege_selects_a_weaker_source_with_a_warning() {
    let _alone = serialised();
    let (source, warnings) = open_with_capabilities(CapabilitySet::empty());
    if source == Source::CpuRecord {
        println!("skipped: needs a kernel.perf_event_paranoid above 0");
        return;
    }
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.is::<WeakerEvidence>(), "{warning:?}");
    assert_eq!(warning.field("source"), serde_json::to_value(source).ok().as_ref());
    assert!(warning.remedy().contains("cap_perfmon"));
}

#[test]
fn cap_perfmon_is_enough_for_switches() {
    let _alone = serialised();
    if !is_root() || !Recorder::open(clock(), &CpuSet::single(0)).warnings().is_empty() {
        println!("skipped: needs root and perf events");
        return;
    }
    let (source, warnings) = open_with_capabilities(CapabilitySet::PERFMON);
    assert_eq!(source, Source::CpuRecord);
    // If tracefs is mounted, root may read it without any capability.
    assert!(warnings.iter().all(Warning::is::<NoInterruptEvidence>), "{warnings:?}");
}
