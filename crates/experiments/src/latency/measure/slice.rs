//! One window: its length, the memory in which its iterations are recorded, and the work of a thread in it.

use super::baseline::{BASELINE_ROUNDS, Baseline};
use crate::latency::plan::Plan;
use instruments::clock::Clock;
use instruments::evidence::Timeline;
use instruments::evidence::{Recorder, Source};
use instruments::grind::Work;
use instruments::neighbour::{Probe, Probed};
use instruments::team::StartGate;
use loops::latency::{AnyLock, IterationSpec, Round, Trace};
use std::ffi::CStr;
use std::ops::Range;
use std::time::Duration;

/// The parts of one window.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// The time before iterations count: threads and caches warm up.
    pub ramp_up: Duration,
    /// The time in which iterations that begin count.
    pub window: Duration,
    /// The time after it, so that iterations which began in the window end under the same load.
    pub ramp_down: Duration,
}

/// The number of windows of a cell: enough to meet the machine's phases and to know their scatter, few enough to
/// contain whole preemptions.
const SLICES_A_CELL: u32 = 20;
const SHORTEST_WINDOW: Duration = Duration::from_millis(5);
const LONGEST_WINDOW: Duration = Duration::from_millis(150);
/// The approximate time slice of the scheduler.
const TIME_SLICE: Duration = Duration::from_millis(4);
const LONGEST_RAMP_DOWN: Duration = Duration::from_millis(80);
/// The minimum number of iterations of a baseline, which has fewer where they would take more than this share of a
/// window.
const LEAST_BASELINE_ROUNDS: usize = 2_000;
const BASELINE_SHARE: f64 = 0.2;

impl Slice {
    /// Returns the window of the largest cell of a plan.
    pub fn of_plan(plan: &Plan) -> Self {
        let share = plan.budget / (plan.cells.len() as u32 * SLICES_A_CELL);
        let window = share.clamp(SHORTEST_WINDOW, LONGEST_WINDOW);
        // As long as a time slice for each thread that may run before a waiter does, or its wait would be cut.
        let waits = plan.most_on_a_cpu().saturating_sub(1) as u32;
        Self { ramp_up: window / 20, window, ramp_down: (TIME_SLICE * waits).clamp(TIME_SLICE, LONGEST_RAMP_DOWN) }
    }

    /// Returns the window of a single thread: shorter, and without a ramp-down, since no other thread's load ends.
    pub fn alone(self, window: Duration) -> Self {
        let window = self.window.min(window);
        Self { ramp_up: window / 20, window, ramp_down: Duration::ZERO }
    }

    /// Returns the window that follows this many in which a thread had no iteration: twice as long for each.
    pub fn after_empty(self, windows: u64) -> Self {
        let times = 1 << windows.min(8);
        Self { window: (self.window * times).min(LONGEST_WINDOW.max(self.window)), ..self }
    }

    /// Returns the time from the start to the stop.
    pub fn total(&self) -> Duration {
        self.ramp_up + self.window + self.ramp_down
    }

    /// Returns the number of iterations without a lock before it, of each of the threads that share a CPU.
    pub fn baseline_rounds(&self, recording_ns: f64, on_a_cpu: usize) -> usize {
        let affordable = BASELINE_SHARE * self.window.as_nanos() as f64 / recording_ns / on_a_cpu as f64;
        (affordable as usize).clamp(LEAST_BASELINE_ROUNDS, BASELINE_ROUNDS)
    }
}

/// The limit of waits that ends the measurement.
#[derive(Clone, Copy)]
pub struct StopRule {
    pub above_ticks: u64,
    /// The begin of the measurement, in ticks.
    pub origin: u64,
}

/// The common data of every thread.
#[derive(Clone, Copy)]
pub struct SliceSetup {
    pub clock: Clock,
    /// The hold time in ticks, and the work that takes about as long.
    pub hold_ticks: f64,
    pub hold: Work,
    /// The clock's step, in ticks.
    pub resolution: u64,
    /// The number of iterations without a lock before each window.
    pub baseline_rounds: usize,
    /// The time for which the hold time is tested before each window, in ns.
    pub tested_ns: f64,
    /// The probe of the SMT sibling, if that was requested.
    pub probe: Option<Probe>,
    /// The limit of waits that ends the measurement, if there is one.
    pub stop: Option<StopRule>,
}

/// The name in the kernel trace of a thread that uses the lock.
pub const LOCKER: &CStr = c"locker";

impl SliceSetup {
    /// Returns the settings of iterations with this much work in each.
    fn iteration_spec(&self, hold: Work) -> IterationSpec {
        IterationSpec { clock: self.clock, hold, probe: self.probe }
    }
}

/// The approximate time for which the threads of a CPU test the hold time before each window.
pub const HOLDS_FOR_NS: f64 = 500_000.0;
/// The maximum correction of the busy loop's calibration.
const MOST_CORRECTION: f64 = 1.25;

/// A thread's part in a window.
///
/// It owns all data that it accesses, since the thread may be abandoned.
pub struct ThreadSlice {
    pub trace: Trace,
    /// The trace for the second baseline of a single thread, which it takes at its end.
    pub spare: Option<Trace>,
    /// Whether the thread records its own switches, because it may not read the trace of the whole CPU.
    pub own_record: bool,
    pub timeline: Option<Timeline>,
    pub task: u32,
    pub start: Option<u64>,
    pub baseline: Option<Baseline>,
    /// The baselines before and after the iterations, each with the readings of the probes around it.
    pub baselines: Vec<(Baseline, Probed)>,
    pub pairs: Option<Pairs>,
}

/// The times of a lock and an unlock in loops that record no single ones, in ticks.
#[derive(Clone, Copy)]
pub struct Pairs {
    pub bare: f64,
    pub fenced: f64,
    /// The readings of the probes around them.
    pub probed: Option<Probed>,
}

impl ThreadSlice {
    pub fn new(trace: Trace, spare: Option<Trace>, own_record: bool) -> Self {
        Self {
            trace,
            spare,
            own_record,
            timeline: None,
            task: 0,
            start: None,
            baseline: None,
            baselines: Vec::new(),
            pairs: None,
        }
    }

    pub fn work(&mut self, lock: &dyn AnyLock, setup: &SliceSetup, gate: &StartGate) {
        // The name is for the kernel trace; a thread that cannot be named works as well.
        let _ = rustix::thread::set_name(LOCKER);
        self.baseline = without_lock(&mut self.trace, setup, Work::of_loads(0), setup.baseline_rounds);
        self.baselines.extend(self.baseline.zip(self.trace.probed()));
        let hold = self.corrected_hold(setup);
        let mut recorder = self.own_record.then(|| own_recorder(setup.clock)).flatten();
        self.task = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        self.start = gate.ready();
        if self.start.is_some() {
            self.trace.limit_to(usize::MAX);
            lock.rounds(setup.iteration_spec(hold), &mut self.trace, gate);
            if self.trace.is_full() {
                gate.stop_at(setup.clock.now());
            }
            self.timeline = recorder.as_mut().and_then(|recorder| recorder.stop().ok());
            // The core may have been shared before and not during, or the other way round.
            let Some(spare) = &mut self.spare else { return };
            let later = without_lock(spare, setup, Work::of_loads(0), setup.baseline_rounds);
            self.baselines.extend(later.zip(spare.probed()));
            self.baseline = self.baseline.map(|before| later.map_or(before, |later| before.and(later)));
        }
    }

    /// Returns the hold time at the present speed of the core, which changes within a second, as the work that takes
    /// this long.
    fn corrected_hold(&mut self, setup: &SliceSetup) -> Work {
        let Some(stamp) = self.baseline.filter(|_| setup.hold.loads() > 0) else { return setup.hold };
        let rounds = (setup.clock.to_ticks(setup.tested_ns) as f64 / setup.hold_ticks).clamp(3.0, 100.0) as usize;
        let Some(took) = without_lock(&mut self.trace, setup, setup.hold, rounds) else { return setup.hold };
        let correction = (setup.hold_ticks / (took.hold - stamp.hold)).clamp(1.0 / MOST_CORRECTION, MOST_CORRECTION);
        Work::of_loads((setup.hold.loads() as f64 * correction).round() as u64)
    }
}

/// Times a lock and an unlock in a bare loop and between fences.
pub fn probed_pairs(lock: &dyn AnyLock, setup: &SliceSetup) -> Pairs {
    // The thread is new: its first probe would find the probe's own code out of the caches.
    let _warm_up = setup.probe.map(|probe| probe.take());
    let before = setup.probe.map(|probe| probe.take());
    let (bare, fenced) = (lock.bare_pair(setup.clock), lock.fenced_pair(setup.clock));
    let after = setup.probe.map(|probe| probe.take());
    Pairs { bare, fenced, probed: before.zip(after).map(|(before, after)| Probed::between(before, after)) }
}

/// Returns the time of this many iterations without a lock.
fn without_lock(trace: &mut Trace, setup: &SliceSetup, hold: Work, rounds: usize) -> Option<Baseline> {
    trace.limit_to(rounds);
    loops::latency::without_lock().rounds(setup.iteration_spec(hold), trace, &StartGate::endless(setup.clock));
    Baseline::without_lock(trace, setup.resolution)
}

/// Spins on the CPU without the lock.
pub fn compete(clock: Clock, gate: &StartGate) {
    // The name is for the kernel trace; a thread that cannot be named competes as well.
    let _ = rustix::thread::set_name(c"competitor");
    if gate.ready().is_some() {
        while clock.now() < gate.stop() {
            Work::of_loads(64).run();
        }
    }
}

/// Returns the range in which iterations count.
///
/// A full trace ends it for all threads where it ended its own.
pub fn window(setup: &SliceSetup, slice: Slice, parts: &[ThreadSlice]) -> Option<Range<u64>> {
    let start = parts.iter().find_map(|part| part.start)?;
    let opens = start + setup.clock.ticks_in(slice.ramp_up);
    let full = parts.iter().filter(|part| part.trace.is_full()).filter_map(|part| part.trace.rounds().last());
    let cut = full.map(|round| round.ended).min();
    let window = opens..cut.unwrap_or(u64::MAX).min(opens + setup.clock.ticks_in(slice.window));
    let rounds = || parts.iter().flat_map(|part| part.trace.rounds());
    let ends_it_all = |rule: StopRule| rounds().any(|round| round.lock() > rule.above_ticks);
    // A wait that ends the measurement before anything counts is the only result.
    let is_early = setup.stop.is_some_and(ends_it_all) && !rounds().any(|round| window.contains(&round.began));
    Some(if is_early { start..window.end } else { window })
}

/// The maximum size of all traces together.
const TRACE_BYTES: usize = 512 << 20;

/// A trace for each thread of the largest cell, and one for the second baseline of a single thread.
pub struct Traces {
    of_threads: Vec<Trace>,
    spare: Option<Trace>,
}

impl Traces {
    /// Creates traces with room for the fastest possible lock.
    ///
    /// The second value is the reason why memory could not be locked, if any.
    pub fn for_plan(plan: &Plan, slice: Slice, recording_ns: f64) -> (Self, Option<String>) {
        let threads = plan.cells.iter().map(|cell| cell.threads).max().unwrap_or(1);
        let span = slice.total().as_nanos() as f64;
        let rounds = (span / (plan.hold_ns + recording_ns / 2.0)) as usize + BASELINE_ROUNDS;
        let capacity = rounds.min(TRACE_BYTES / threads / size_of::<Round>());
        let mut not_locked = None;
        let mut made = |capacity| {
            let (trace, refused) = Trace::with_capacity(capacity);
            not_locked = refused.or(not_locked.take());
            trace
        };
        let (of_threads, spare) = ((0..threads).map(|_| made(capacity)).collect(), Some(made(BASELINE_ROUNDS)));
        (Self { of_threads, spare }, not_locked)
    }

    /// Returns one for each of this many threads; with the spare one, for a single thread.
    pub fn lend(&mut self, threads: usize, is_alone: bool) -> Vec<(Trace, Option<Trace>)> {
        let mut spare = if is_alone { self.spare.take() } else { None };
        self.of_threads.drain(..threads).map(|trace| (trace, spare.take())).collect()
    }

    /// Takes back those that were lent.
    pub fn take_back(&mut self, lent: impl Iterator<Item = (Trace, Option<Trace>)>) {
        let (lent, spares): (Vec<Trace>, Vec<Option<Trace>>) = lent.unzip();
        // In front, so that few threads always write to the same memory.
        drop(self.of_threads.splice(0..0, lent));
        self.spare = self.spare.take().or(spares.into_iter().flatten().next());
    }
}

/// Starts a recorder of the calling thread's own switches; `None` where that is not granted either: then there is no
/// evidence about this thread.
pub fn own_recorder(clock: Clock) -> Option<Recorder> {
    let cpus = instruments::cpus::allowed().ok()?;
    let mut recorder = Recorder::open_with(clock, &cpus, Source::ThreadRecord).ok()?;
    recorder.start().ok()?;
    Some(recorder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_after_empty_ones_is_longer_up_to_the_limit() {
        let slice = |window| Slice { ramp_up: Duration::ZERO, window, ramp_down: TIME_SLICE };
        let after = |window, empty| slice(window).after_empty(empty).window;
        assert_eq!((after(SHORTEST_WINDOW, 0), after(SHORTEST_WINDOW, 1)), (SHORTEST_WINDOW, 2 * SHORTEST_WINDOW));
        assert_eq!(after(SHORTEST_WINDOW, 3), 8 * SHORTEST_WINDOW);
        assert_eq!((after(SHORTEST_WINDOW, 9), after(SHORTEST_WINDOW, u64::MAX)), (LONGEST_WINDOW, LONGEST_WINDOW));
        assert_eq!(after(2 * LONGEST_WINDOW, 3), 2 * LONGEST_WINDOW, "a longer one stays as it is");
    }
}
