//! The causes of the time of a gap, by the events in it.

use super::{COMPETITOR, END, READER, attributed, clock, gap, handler, scene, stretch, taken, turn};
use instruments::evidence::EventKind::{Entered, Exited, Left, Lost, Took};
use instruments::evidence::{EntryExitOverhead, Event, Kind, Names, Source, Stretch, Timeline, attribute};

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
