//! The time of a gap is divided by the owners of the CPU in it, and every tick of it is accounted for.

use instruments::clock::Clock;
use instruments::evidence::EventKind::{Entered, Exited, Left, Lost, Took};
use instruments::evidence::{
    Attribution, EntryExitOverhead, Event, EventKind, HandlerKind, Kind, Names, Source, Stretch, Timeline, attribute,
};
use instruments::gaps::Gap;
use proptest::prelude::*;
use std::time::Duration;

const READER: u32 = 100;
const COMPETITOR: u32 = 200;
const END: u64 = 10_000_000;

/// The data of one test: handlers, and a timeline on one CPU.
struct Scene {
    names: Names,
    timer: u32,
    disk: u32,
    softirq: u32,
}

fn scene() -> Scene {
    let mut names = Names::default();
    names.name_task(COMPETITOR, 199, "competitor");
    let timer = names.handler(HandlerKind::Interrupt, "local_timer");
    let disk = names.handler(HandlerKind::Interrupt, "disk");
    let softirq = names.handler(HandlerKind::Softirq, "sched");
    Scene { names, timer, disk, softirq }
}

fn clock() -> Clock {
    Clock::calibrate(Duration::from_millis(2)).clock
}

impl Scene {
    fn timeline(&self, events: &[(u64, EventKind)]) -> Timeline {
        let events = events.iter().map(|&(at, kind)| Event { at, kind }).collect();
        let names = self.names.clone();
        Timeline::of_events(clock(), Source::CpuRecord, 0..END, READER, names, &[(Some(0), events)])
    }
}

fn stretch<'a>(timeline: &'a Timeline, gaps: &'a [Gap]) -> Stretch<'a> {
    Stretch { timeline, task: READER, start: 0, end: END, gaps, usual: 0, preempted: &[], looks: &[] }
}

fn gap(start: u64, end: u64) -> Gap {
    Gap { start, length: end - start }
}

/// Attributes with the limits that the gaps themselves provide.
fn attributed(timeline: &Timeline, gaps: &[Gap]) -> Attribution {
    let stretch = stretch(timeline, gaps);
    let mut overhead = EntryExitOverhead::default();
    overhead.learn(&stretch);
    attribute(&stretch, &overhead)
}

/// Returns the ticks of a cause in all gaps.
fn taken(attribution: &Attribution, kind: Kind, name: Option<&str>) -> u64 {
    let causes = attribution.causes();
    let with_name = causes.iter().filter(|cause| cause.cause.kind == kind && cause.cause.name.as_deref() == name);
    with_name.map(|cause| cause.ticks).sum()
}

fn handler(from: u64, to: u64, handler: u32) -> [(u64, EventKind); 2] {
    [(from, Entered { task: READER, handler }), (to, Exited { task: READER, handler })]
}

fn turn(from: u64, to: u64, preempted: bool) -> [(u64, EventKind); 2] {
    [
        (from, Left { task: READER, next: Some(COMPETITOR), preempted }),
        (to, Took { task: READER, previous: Some(COMPETITOR) }),
    ]
}

// The causes of the time of a gap, by the events in it.

#[test]
fn time_of_another_task_excludes_its_handlers() {
    let scene = scene();
    let [out, back] = turn(1_000, 9_000, true);
    let inside = [
        (3_000, Entered { task: COMPETITOR, handler: scene.timer }),
        (3_500, Exited { task: COMPETITOR, handler: scene.timer }),
    ];
    let timeline = scene.timeline(&[out, inside[0], inside[1], back]);
    let attribution = attributed(&timeline, &[gap(1_000, 9_000)]);
    assert_eq!(taken(&attribution, Kind::Task, Some("competitor")), 7_500);
    assert_eq!(taken(&attribution, Kind::Interrupt, Some("local_timer")), 500);
    assert_eq!(attribution.explained_share(), Some(1.0));
    let (cause, ticks) = attribution.of_gap(0)[0];
    assert_eq!((cause.pid, ticks), (Some(199), 7_500));
}

#[test]
fn the_inner_of_two_handlers_has_the_time() {
    let scene = scene();
    let events = [
        (1_000, Entered { task: READER, handler: scene.softirq }),
        (1_200, Entered { task: READER, handler: scene.timer }),
        (1_700, Exited { task: READER, handler: scene.timer }),
        (2_000, Exited { task: READER, handler: scene.softirq }),
    ];
    let attribution = attributed(&scene.timeline(&events), &[gap(1_000, 2_000)]);
    assert_eq!(taken(&attribution, Kind::Softirq, Some("sched")), 500);
    assert_eq!(taken(&attribution, Kind::Interrupt, Some("local_timer")), 500);
}

#[test]
fn entry_and_exit_belong_to_their_handler() {
    let scene = scene();
    let events: Vec<_> = (1..40).flat_map(|n| handler(n * 10_000 + 300, n * 10_000 + 800, scene.timer)).collect();
    let gaps: Vec<_> = (1..40).map(|n| gap(n * 10_000, n * 10_000 + 1_900)).collect();
    let attribution = attributed(&scene.timeline(&events), &gaps);
    assert_eq!(taken(&attribution, Kind::Interrupt, Some("local_timer")), 39 * 1_900);
    assert_eq!(attribution.explained_share(), Some(1.0));
}

#[test]
fn late_interrupt_is_not_the_cause_of_earlier_time() {
    let scene = scene();
    let mut events: Vec<_> = (1..40).flat_map(|n| handler(n * 10_000 + 300, n * 10_000 + 800, scene.timer)).collect();
    let mut gaps: Vec<_> = (1..40).map(|n| gap(n * 10_000, n * 10_000 + 1_100)).collect();
    // The only disk interrupt comes at the end of a long gap: the limit of the time around it is learned from the
    // other gaps.
    events.extend(handler(5_879_000, 5_880_000, scene.disk));
    gaps.push(gap(1_000_000, 5_880_300));
    let attribution = attributed(&scene.timeline(&events), &gaps);
    let disk = taken(&attribution, Kind::Interrupt, Some("disk"));
    assert!((1_000..=1_000 + 4 * 300 + 300).contains(&disk), "{disk}");
    assert_eq!(attribution.unexplained(39), 4_880_300 - disk);
}

#[test]
fn a_real_time_thread_does_not_wait_for_ordinary_ones() {
    let scene = scene();
    let mut timeline = scene.timeline(&turn(1_000, 9_000, true));
    timeline.realtime = true;
    let attribution = attributed(&timeline, &[gap(1_000, 9_000)]);
    assert_eq!(taken(&attribution, Kind::RealtimeThrottling, None), 8_000);
}

#[test]
fn voluntary_switch_is_attributed_to_the_thread_itself() {
    let scene = scene();
    let timeline = scene.timeline(&turn(1_000, 9_000, false));
    let attribution = attributed(&timeline, &[gap(1_000, 9_000)]);
    assert_eq!(taken(&attribution, Kind::Blocked, None), 8_000);
    assert_eq!(taken(&attribution, Kind::Task, Some("competitor")), 0);
}

#[test]
fn time_in_which_reports_were_lost_is_unexplained_and_counted() {
    let scene = scene();
    let [out, back] = turn(1_000, 9_000, true);
    let timeline = scene.timeline(&[out, (6_000, Lost { reports: 3 }), back]);
    let attribution = attributed(&timeline, &[gap(1_000, 9_000)]);
    assert_eq!(timeline.quality.lost_events, 3);
    assert_eq!(timeline.quality.blind_ns, timeline.clock.to_ns(5_000));
    let lost_in = |span_ns: f64| {
        let mut quality = timeline.quality.clone();
        quality.span_ns = span_ns;
        quality.warnings().len()
    };
    assert_eq!(lost_in(100.0 * timeline.quality.blind_ns), 1);
    // A share that no printed digit would show.
    assert_eq!(lost_in(2_000.0 * timeline.quality.blind_ns), 0);
    assert_eq!(attribution.unexplained(0), 5_000);
    assert_eq!(taken(&attribution, Kind::Task, Some("competitor")), 3_000);
}

#[test]
fn no_events_explain_nothing_and_no_gaps_need_nothing() {
    let scene = scene();
    let timeline = scene.timeline(&[]);
    let attribution = attributed(&timeline, &[gap(5, 25)]);
    assert_eq!((attribution.explained_share(), attribution.recall.share()), (Some(0.0), None));
    let nothing = attributed(&timeline, &[]);
    assert_eq!((nothing.gaps(), nothing.total(), nothing.explained_share()), (0, 0, None));
}

#[test]
fn usual_work_has_no_other_cause() {
    let scene = scene();
    let timeline = scene.timeline(&handler(2_000, 2_500, scene.timer));
    let gaps = [gap(1_000, 1_800), gap(1_800, 3_300)];
    let stretch = Stretch { usual: 900, ..stretch(&timeline, &gaps) };
    let attribution = attribute(&stretch, &EntryExitOverhead::default());
    assert_eq!(taken(&attribution, Kind::Own, None), 800 + 900);
    assert_eq!(taken(&attribution, Kind::Interrupt, Some("local_timer")), 600);
}

#[test]
fn a_cleared_flag_explains_the_gap_where_nothing_else_does() {
    let names = Names::default();
    let timeline = Timeline::of_events(clock(), Source::PreemptionFlag, 0..END, READER, names, &[]);
    let gaps = [gap(10, 30), gap(50, 90)];
    let stretch = Stretch { preempted: &[false, true], ..stretch(&timeline, &gaps) };
    let attribution = attribute(&stretch, &EntryExitOverhead::default());
    assert_eq!((attribution.unexplained(0), taken(&attribution, Kind::SwitchedOut, None)), (20, 40));
}

#[test]
fn a_reported_taking_outside_of_every_gap_is_missed() {
    let scene = scene();
    let events: Vec<_> = [handler(1_000, 1_500, scene.timer), handler(50_000, 50_500, scene.timer)].concat();
    let attribution = attributed(&scene.timeline(&events), &[gap(990, 1_600)]);
    assert_eq!((attribution.recall.reported, attribution.recall.missed), (2, 1));
    assert_eq!(attribution.recall.share(), Some(0.5));
}

#[test]
fn a_thread_is_followed_to_another_cpu() {
    let scene = scene();
    let first = vec![Event { at: 1_000, kind: Left { task: READER, next: Some(COMPETITOR), preempted: true } }];
    let second = vec![
        Event { at: 4_000, kind: Took { task: READER, previous: Some(0) } },
        Event { at: 6_000, kind: Entered { task: READER, handler: scene.timer } },
        Event { at: 6_500, kind: Exited { task: READER, handler: scene.timer } },
    ];
    let tracks = [(Some(0), first), (Some(1), second)];
    let timeline = Timeline::of_events(clock(), Source::CpuRecord, 0..END, READER, scene.names.clone(), &tracks);
    let attribution = attributed(&timeline, &[gap(1_000, 4_000), gap(6_000, 6_500)]);
    assert_eq!(taken(&attribution, Kind::Task, Some("competitor")), 3_000);
    assert_eq!(taken(&attribution, Kind::Interrupt, Some("local_timer")), 500);
    // The later use of the CPU that it left does not matter.
    assert!(
        timeline.tracks[0]
            .segments
            .iter()
            .filter(|segment| segment.end > 6_000 && segment.start < 6_500)
            .all(|segment| segment.handler.is_none())
    );
}

// The time that is missing from the kernel's account of the thread: stolen or throttled, or slept.

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
    assert!(stolen.abs_diff(40_000) <= 20, "{stolen}");
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
    assert!(timer(&attribution).abs_diff(39 * 500 + 2_500) <= 20, "{}", timer(&attribution));
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

// Any events at any time: no hole, no overlap, and the parts of a gap sum to it.

/// Returns any event at any time, as no kernel would report it.
fn event() -> impl Strategy<Value = (u64, EventKind)> {
    let task = || prop::sample::select(vec![0, READER, COMPETITOR, u32::MAX]);
    let other = || prop::option::of(task());
    let what = prop_oneof![
        (task(), other(), any::<bool>()).prop_map(|(task, next, preempted)| Left { task, next, preempted }),
        (task(), other()).prop_map(|(task, previous)| Took { task, previous }),
        (task(), 0_u32..4).prop_map(|(task, handler)| Entered { task, handler }),
        (task(), 0_u32..4).prop_map(|(task, handler)| Exited { task, handler }),
        (0_u64..5).prop_map(|reports| Lost { reports }),
    ];
    (0..40_000_u64, what)
}

proptest! {
    #[test]
    fn a_track_has_no_holes_and_no_overlaps(events in prop::collection::vec(event(), 0..40)) {
        let timeline = scene().timeline(&events);
        let segments = &timeline.tracks[0].segments;
        let ends = [segments.first().map(|first| first.start), segments.last().map(|last| last.end)];
        prop_assert_eq!(ends, [Some(0), Some(END)]);
        prop_assert!(segments.windows(2).all(|pair| pair[0].end == pair[1].start));
        prop_assert!(segments.iter().all(|segment| segment.start <= segment.end));
    }

    #[test]
    fn parts_of_a_gap_sum_to_its_length(
        events in prop::collection::vec(event(), 0..40),
        lengths in prop::collection::vec((1..3_000_u64, 1..3_000_u64), 0..12),
        (usual, missing) in (0..500_u64, 0..20_000_u64),
        flags in prop::collection::vec(any::<bool>(), 0..12),
    ) {
        let mut timeline = scene().timeline(&events);
        timeline.quality.account.wall_ns = missing;
        timeline.quality.account.run_delay_ns = Some(0);
        let mut at = 0;
        let gaps: Vec<Gap> = lengths.iter().map(|&(pause, length)| {
            at += pause + length;
            Gap { start: at - length, length }
        }).collect();
        let stretch = Stretch { usual, preempted: &flags, ..stretch(&timeline, &gaps) };
        let mut overhead = EntryExitOverhead::default();
        overhead.learn(&stretch);
        let attribution = attribute(&stretch, &overhead);
        prop_assert_eq!(attribution.gaps(), gaps.len());
        for (number, gap) in gaps.iter().enumerate() {
            prop_assert_eq!(attribution.of_gap(number).iter().map(|(_, ticks)| ticks).sum::<u64>(), gap.length);
        }
        prop_assert!(attribution.explained_share().is_none_or(|share| (0.0..=1.0).contains(&share)));
        prop_assert!(attribution.recall.missed <= attribution.recall.reported);
        // An attribution added to itself has twice the time of each cause.
        let mut twice = attribution.clone();
        twice.absorb(&attribution);
        prop_assert_eq!((twice.total(), twice.gaps()), (2 * attribution.total(), 2 * gaps.len()));
        prop_assert_eq!(twice.causes().len(), attribution.causes().len());
    }
}
