//! The time that a competing thread took is attributed, by each source.

use super::{RIVAL, attributed, clock, serialised, with_competitor};
use instruments::cpus::CpuSet;
use instruments::evidence::{CauseTime, Kind, Recorder, Source, Timeline, Who};
use instruments::gaps;
use std::time::Duration;

/// Returns the CPU time of a thread of this process, for which the kernel accounts exactly.
fn cpu_time_ns(thread: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).unwrap_or_default();
    text.split(' ').next().and_then(|field| field.parse().ok()).unwrap_or(0.0)
}

/// Watches the competitor's CPU with events from `source`.
///
/// Returns the time of the causes that `is_rival` selects, and the competitor's CPU time in that period, both in ns;
/// `None` without the privilege.
fn time_of_competitor(source: Source, is_rival: impl Fn(Kind) -> bool) -> Option<(f64, f64)> {
    with_competitor(|cpu, rival| {
        let clock = clock();
        let mut recorder = match Recorder::open_with(clock, &CpuSet::single(cpu), source) {
            Ok(recorder) => recorder,
            Err(error) => {
                println!("skipped: needs {source:?}: {error}");
                return None;
            }
        };
        recorder.start().unwrap();
        let before = cpu_time_ns(rival);
        let watch = gaps::watch(clock, Duration::from_millis(300));
        let ran = cpu_time_ns(rival) - before;
        let timeline = recorder.stop().unwrap();
        assert_eq!(timeline.quality.source, source);
        let attribution = attributed(&timeline, &watch);
        assert!(attribution.recall.share().is_none_or(|share| share > 0.99), "{:?}", attribution.recall);
        let causes = attribution.causes();
        let competitor_ns = causes.iter().filter(|cause| is_rival(cause.cause.kind));
        Some((clock.to_ns(competitor_ns.map(|cause| cause.ticks).sum()), ran))
    })
}

/// Returns the ticks for which a thread had a CPU between two points in time, without the handlers inside; and all
/// that it had.
fn had(timeline: &Timeline, thread: u32, start: u64, end: u64) -> (u64, u64) {
    let segments = timeline.tracks.iter().flat_map(|track| &track.segments);
    let of_thread = segments.filter(|segment| segment.who == Who::Task(thread));
    of_thread.fold((0, 0), |(without, all), segment| {
        let ticks = segment.end.min(end).saturating_sub(segment.start.max(start));
        (without + if segment.handler.is_none() { ticks } else { 0 }, all + ticks)
    })
}

#[test]
fn competitor_is_named_for_its_cpu_time() {
    let _alone = serialised();
    with_competitor(|cpu, rival| {
        let clock = clock();
        let mut recorder = match Recorder::open_with(clock, &CpuSet::single(cpu), Source::CpuRecord) {
            Ok(recorder) => recorder,
            Err(error) => return println!("skipped: needs CAP_PERFMON: {error}"),
        };
        recorder.start().unwrap();
        let before = cpu_time_ns(rival);
        let watch = gaps::watch(clock, Duration::from_millis(300));
        let ran = cpu_time_ns(rival) - before;
        let timeline = recorder.stop().unwrap();
        // The trace agrees with the kernel's account of the competitor. The trace lasts a little longer, and the
        // account of a virtual machine excludes stolen time.
        let (_, recorded) = had(&timeline, rival, timeline.start, timeline.end);
        assert!(clock.to_ns(recorded) >= ran * 0.99 && ran > 0.0, "{} of {ran}", clock.to_ns(recorded));
        // Nearly all of it that is within the watch is in a gap and has the competitor's name.
        let attribution = attributed(&timeline, &watch);
        let is_rival =
            |cause: &&CauseTime| cause.cause.kind == Kind::Task && cause.cause.name.as_deref() == Some(RIVAL);
        let taken: u64 = attribution.causes().iter().filter(is_rival).map(|cause| cause.ticks).sum();
        let (without_handlers, _) = had(&timeline, rival, watch.start, watch.start + watch.span);
        assert!(taken as f64 >= 0.99 * without_handlers as f64, "{taken} of {without_handlers}");
        assert!(attribution.recall.share().is_none_or(|share| share > 0.99), "{:?}", attribution.recall);
    });
}

#[test]
fn thread_trace_contains_the_time_of_an_unnamed_competitor() {
    let _alone = serialised();
    let is_rival = |kind| kind == Kind::SwitchedOut;
    if let Some((taken, ran)) = time_of_competitor(Source::ThreadRecord, is_rival) {
        // Between the reading of its account and the watch there are a few time slices without data.
        assert!(taken > ran * 0.8 - 20e6 && taken > 0.0, "{taken} of {ran}");
    }
}

#[test]
fn account_contains_the_time_of_a_competitor() {
    let _alone = serialised();
    let is_rival = |kind| kind == Kind::SwitchedOut;
    if let Some((taken, ran)) = time_of_competitor(Source::Account, is_rival) {
        // Between the reading of its account and the watch there are a few time slices without data.
        assert!(taken > ran * 0.8 - 20e6 && taken > 0.0, "{taken} of {ran}");
    }
}
