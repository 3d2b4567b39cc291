//! The recorder: periods, threads that it follows, interrupts, and a ring that overflows.

use super::{INVOLUNTARY, VOLUNTARY, attributed, clock, serialised, switches};
use instruments::cpus::{self, CpuSet};
use instruments::evidence::{Recorder, Source};
use instruments::gaps;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn unstarted_period_cannot_stop_and_periods_repeat() {
    let _alone = serialised();
    let clock = clock();
    let mut recorder = Recorder::open(clock, &CpuSet::single(cpus::allowed().unwrap().first().unwrap()));
    assert!(recorder.stop().unwrap_err().to_string().contains("not started"));
    for _ in 0..3 {
        recorder.start().unwrap();
        let timeline = recorder.stop().unwrap();
        assert!(timeline.start <= timeline.end);
        // No event of an earlier period is in a later one.
        let segments = timeline.tracks.iter().flat_map(|track| &track.segments);
        assert!(segments.clone().all(|segment| segment.start >= timeline.start && segment.end <= timeline.end));
    }
}

#[test]
fn a_recorder_follows_another_thread() {
    let _alone = serialised();
    let cpu = cpus::allowed().unwrap().first().unwrap();
    let clock = clock();
    let sources = [Source::CpuRecord, Source::ThreadRecord, Source::PreemptionFlag, Source::Account, Source::None];
    for source in sources {
        let Ok(mut recorder) = Recorder::open_with(clock, &CpuSet::single(cpu), source) else {
            println!("skipped: needs {source:?}");
            continue;
        };
        let first = recorder.thread();
        let follow = || {
            cpus::pin_current_thread(cpu).unwrap();
            recorder.follow_this_thread();
            recorder.start().unwrap();
            let watch = gaps::watch(clock, Duration::from_millis(20));
            let timeline = recorder.stop().unwrap();
            assert!(attributed(&timeline, &watch).total() <= watch.span);
            assert_eq!(timeline.thread, rustix::thread::gettid().as_raw_nonzero().get() as u32);
            timeline
        };
        let timeline = thread::scope(|scope| scope.spawn(follow).join().unwrap());
        assert_ne!(timeline.thread, first);
        assert_eq!((recorder.source(), timeline.quality.source), (source, source));
    }
}

/// Returns the number of timer interrupts on a CPU so far, as counted in `/proc/interrupts`; `None` without such a
/// line.
fn timer_interrupts(cpu: usize) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/interrupts").ok()?;
    let column = text.lines().next()?.split_whitespace().position(|name| name == format!("CPU{cpu}"))?;
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("LOC:"))?;
    line.split_whitespace().nth(column)?.parse().ok()
}

#[test]
fn every_timer_interrupt_is_reported_in_every_period() {
    let _alone = serialised();
    let cpu = cpus::allowed().unwrap().first().unwrap();
    cpus::pin_current_thread(cpu).unwrap();
    let clock = clock();
    let Some(mut recorder) = Recorder::open_with(clock, &CpuSet::single(cpu), Source::CpuRecord)
        .ok()
        .filter(|recorder| recorder.warnings().is_empty() && timer_interrupts(cpu).is_some())
    else {
        println!("skipped: needs CAP_PERFMON, tracefs and x86's LOC line in /proc/interrupts");
        return;
    };
    for _ in 0..4 {
        recorder.start().unwrap();
        let before = timer_interrupts(cpu).unwrap();
        let _ = gaps::watch(clock, Duration::from_millis(50));
        let counted = timer_interrupts(cpu).unwrap() - before;
        let timeline = recorder.stop().unwrap();
        let is_timer = |handler: u32| timeline.names.handler_of(handler).is_some_and(|it| it.name == "local_timer");
        let begun = timeline.tracks[0].segments.iter().filter(|segment| segment.begins);
        let reported = begun.filter_map(|segment| segment.handler).filter(|&handler| is_timer(handler)).count() as u64;
        // Not all interrupts of the idle task are reported, but the CPU is never idle here. The count is read before
        // the recorder is stopped, and each reading may coincide with one interrupt.
        assert!(reported + 1 >= counted && reported > 0, "{reported} of {counted}");
    }
}

#[test]
fn ring_overflow_is_reported() {
    let _alone = serialised();
    let cpu = cpus::allowed().unwrap().first().unwrap();
    cpus::pin_current_thread(cpu).unwrap();
    let Ok(mut recorder) = Recorder::open_with(clock(), &CpuSet::single(cpu), Source::CpuRecord) else {
        println!("skipped: needs CAP_PERFMON");
        return;
    };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            cpus::pin_current_thread(cpu).unwrap();
            while !done.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        });
        // Leaving the CPU and returning are two records of 32 bytes.
        recorder.start().unwrap();
        let enough = recorder.stop().unwrap().quality.ring_kib * 1024 / 64;
        recorder.start().unwrap();
        let latest = Instant::now() + Duration::from_secs(8);
        let before = switches(&[VOLUNTARY, INVOLUNTARY]);
        let mut away = 0;
        while away < enough && Instant::now() < latest {
            (0..10_000).for_each(|_| thread::yield_now());
            away = switches(&[VOLUNTARY, INVOLUNTARY]) - before;
        }
        let overflowed = recorder.stop().unwrap().quality;
        recorder.start().unwrap();
        (0..100).for_each(|_| thread::yield_now());
        let next = recorder.stop().unwrap().quality;
        done.store(true, Ordering::Relaxed);
        if away < enough {
            println!("skipped: needs a machine that switches faster");
            return;
        }
        assert!(overflowed.blind_ns > 0.0 && overflowed.warnings().len() == 1, "{overflowed:?}");
        // The kernel reports the number of lost events with the next event.
        assert!(next.lost_events > 0 && next.blind_ns < next.span_ns, "{next:?}");
    });
}
