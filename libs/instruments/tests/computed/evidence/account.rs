//! The time that is missing from the kernel's account of the thread: stolen or throttled, or slept.

use super::{READER, attributed, gap, handler, scene, taken, turn};
use instruments::evidence::EventKind::{Left, Took};
use instruments::evidence::{Attribution, Kind, Source};

#[test]
fn an_idle_cpu_under_a_willing_thread_is_throttling() {
    let scene = scene();
    let events = [
        (1_000, Left { task: READER, next: Some(0), preempted: true }),
        (9_000, Took { task: READER, previous: Some(0) }),
    ];
    let mut timeline = scene.timeline(&events);
    let gaps = [gap(1_000, 9_000)];
    assert_eq!(attributed(&timeline, &gaps).unexplained(0), 8_000);
    timeline.quality.account.throttled_ns = Some(8_000);
    assert_eq!(taken(&attributed(&timeline, &gaps), Kind::CgroupThrottling, None), 8_000);
    timeline.realtime = true;
    assert_eq!(taken(&attributed(&timeline, &gaps), Kind::RealtimeThrottling, None), 8_000);
}

#[test]
fn missing_time_goes_to_the_longest_unexplained_times() {
    let scene = scene();
    let mut timeline = scene.timeline(&[]);
    let account = &mut timeline.quality.account;
    account.wall_ns = timeline.clock.to_ns(5_000_000).round() as u64;
    (account.cpu_ns, account.run_delay_ns) = (account.wall_ns - timeline.clock.to_ns(40_000) as u64, Some(0));
    let attribution = attributed(&timeline, &[gap(10, 20_010), gap(100_000, 150_000)]);
    assert_eq!(attribution.unexplained(0), 20_000);
    let stolen = taken(&attribution, Kind::Steal, None);
    assert!(stolen.abs_diff(40_000) <= 10, "{stolen}");
    assert_eq!(attribution.unexplained(1), 50_000 - stolen);
}

#[test]
fn handler_stopped_by_steal_is_not_the_cause() {
    let scene = scene();
    let mut events: Vec<_> = (1..40).flat_map(|n| handler(n * 10_000, n * 10_000 + 500, scene.timer)).collect();
    events.extend(handler(500_000, 580_500, scene.timer));
    let mut timeline = scene.timeline(&events);
    let mut gaps: Vec<_> = (1..40).map(|n| gap(n * 10_000, n * 10_000 + 500)).collect();
    gaps.extend([gap(500_000, 580_500), gap(700_000, 702_000)]);
    // Without missing time in the account, a long handler is only a long handler.
    let timer = |attribution: &Attribution| taken(attribution, Kind::Interrupt, Some("local_timer"));
    assert_eq!(timer(&attributed(&timeline, &gaps)), 39 * 500 + 80_500);
    let account = &mut timeline.quality.account;
    account.wall_ns = timeline.clock.to_ns(5_000_000).round() as u64;
    (account.cpu_ns, account.run_delay_ns) = (account.wall_ns - timeline.clock.to_ns(78_000) as u64, Some(0));
    let attribution = attributed(&timeline, &gaps);
    // The missing time fits only into the long handler, which is longer than the unexplained rest.
    assert!(timer(&attribution).abs_diff(39 * 500 + 2_500) <= 10, "{}", timer(&attribution));
    assert_eq!(attribution.of_gap(39)[0].0.kind, Kind::Steal);
    assert_eq!(attribution.unexplained(40), 2_000);
}

#[test]
fn time_slept_was_not_stolen() {
    let scene = scene();
    let mut timeline = scene.timeline(&turn(1_000, 9_000, false));
    timeline.quality.account.wall_ns = timeline.clock.to_ns(8_000) as u64;
    timeline.quality.account.run_delay_ns = Some(0);
    let attribution = attributed(&timeline, &[gap(1_000, 9_000), gap(20_000, 28_000)]);
    assert_eq!(taken(&attribution, Kind::Steal, None), 0);
    // Without a trace of its switches, sleep cannot be distinguished from steal.
    timeline.tracks.clear();
    timeline.quality.source = Source::PreemptionFlag;
    timeline.quality.account.sleeps = Some(1);
    assert_eq!(attributed(&timeline, &[gap(20_000, 28_000)]).explained_share(), Some(0.0));
}
