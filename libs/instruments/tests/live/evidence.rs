//! The reports of the running kernel agree with the actions of the tests.

use instruments::clock::Clock;
use instruments::cpus::{self, CpuSet};
use instruments::evidence::preemption::PreemptionFlag;
use instruments::evidence::{
    Attribution, CauseTime, EntryExitOverhead, Kind, NoInterruptEvidence, Recorder, Source, Stretch, Timeline,
    WeakerEvidence, Who, attribute,
};
use instruments::gaps;
use instruments::gaps::Watch;
use instruments::warning::Warning;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const RIVAL: &str = "rival";

/// Serialises the tests: they share a CPU, and the memory that their user may lock.
fn serialised() -> MutexGuard<'static, ()> {
    static SERIAL: Mutex<()> = Mutex::new(());
    SERIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn clock() -> Clock {
    Clock::calibrate(Duration::from_millis(20)).clock
}

/// Runs `measure` on the CPU of a thread that never sleeps, and passes it the CPU and that thread's id.
fn with_competitor<T>(measure: impl FnOnce(usize, u32) -> T) -> T {
    let cpu = cpus::allowed().unwrap().first().unwrap();
    let (stop, rival) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        let spin = || {
            cpus::pin_current_thread(cpu).unwrap();
            rival.store(rustix::thread::gettid().as_raw_nonzero().get() as u32, Ordering::Release);
            let latest = Instant::now() + Duration::from_secs(20);
            while !stop.load(Ordering::Relaxed) && Instant::now() < latest {
                spin_loop();
            }
        };
        thread::Builder::new().name(RIVAL.into()).spawn_scoped(scope, spin).unwrap();
        cpus::pin_current_thread(cpu).unwrap();
        while rival.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        let result = measure(cpu, rival.load(Ordering::Acquire));
        stop.store(true, Ordering::Relaxed);
        result
    })
}

fn attributed(timeline: &Timeline, watch: &Watch) -> Attribution {
    let stretch = Stretch::of_watch(timeline, watch);
    let mut overhead = EntryExitOverhead::default();
    overhead.learn(&stretch);
    attribute(&stretch, &overhead)
}

/// Returns the number of switches away from the calling thread so far: all, or the involuntary ones.
fn switches(of: &[&str]) -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let count = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
    of.iter().filter_map(|key| count(key)).sum()
}

const VOLUNTARY: &str = "voluntary_ctxt_switches:";
const INVOLUNTARY: &str = "nonvoluntary_ctxt_switches:";

// The recorder: periods, threads that it follows, interrupts, and a ring that overflows.

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

// The sources of kernel events with fewer capabilities.

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

// The flag that the kernel clears when it preempts.

#[test]
fn the_flag_is_cleared_by_preemptions() {
    let _alone = serialised();
    with_competitor(|_, _| {
        let Some(flag) = PreemptionFlag::of_current_thread() else {
            println!("skipped: needs a C library that registers rseq");
            return;
        };
        let clock = clock();
        let before = switches(&[INVOLUNTARY]);
        let mut seen = 0;
        flag.set();
        let start = clock.now();
        while clock.now() - start < clock.ticks_in(Duration::from_millis(400)) {
            if flag.was_cleared() {
                seen += 1;
                flag.set();
            }
        }
        let switches = switches(&[INVOLUNTARY]) - before;
        assert!(switches > 0, "the rival never ran in 400 ms");
        // Two preemptions may occur at the edges, and two so close that they count as one.
        assert!(seen + 4 >= switches / 10 * 9, "{seen} of {switches}");
    });
}

#[test]
fn unset_flag_reads_cleared_and_drop_clears_it() {
    let _alone = serialised();
    if let Some(flag) = PreemptionFlag::of_current_thread() {
        flag.set();
        drop(flag);
        let again = PreemptionFlag::of_current_thread().unwrap();
        assert!(again.was_cleared());
    }
}

// The time that a competing thread took is attributed, by each source.

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
