//! One slice: how long it is, the memory that its rounds are recorded in, and what a thread does in it.

use super::baseline::{BASELINE_ROUNDS, Baseline};
use crate::latency::plan::Plan;
use instruments::clock::Clock;
use instruments::evidence::Timeline;
use instruments::evidence::{Recorder, Source};
use instruments::grind::Work;
use instruments::neighbour::{Probe, Probed};
use instruments::team::StartGate;
use loops::latency::{AnyLock, Round, Trace, Way};
use std::ffi::CStr;
use std::ops::Range;
use std::time::Duration;

/// What one slice is made of.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// Runs before rounds count: threads and caches warm up.
    pub ramp_up: Duration,
    /// Rounds that begin here count.
    pub window: Duration,
    /// Runs on, so that rounds which began in the window end under the same load.
    pub ramp_down: Duration,
}

/// Slices a cell is divided into: enough to meet the machine's moods and for their scatter to be known, few enough to
/// see preemptions whole.
const SLICES_A_CELL: u32 = 20;
const SHORTEST_WINDOW: Duration = Duration::from_millis(5);
const LONGEST_WINDOW: Duration = Duration::from_millis(150);
/// About the scheduler's time slice.
const TIME_SLICE: Duration = Duration::from_millis(4);
const LONGEST_RAMP_DOWN: Duration = Duration::from_millis(80);
/// Fewer rounds are spent on a baseline where they would take more than this share of a slice, but so many at least.
const LEAST_BASELINE_ROUNDS: usize = 2_000;
const BASELINE_SHARE: f64 = 0.2;

impl Slice {
    /// That of the largest cell of a plan.
    pub fn of_plan(plan: &Plan) -> Self {
        let share = plan.budget / (plan.cells.len() as u32 * SLICES_A_CELL);
        let window = share.clamp(SHORTEST_WINDOW, LONGEST_WINDOW);
        let most = plan.cells.iter().map(|cell| cell.threads + cell.competitors).max().unwrap_or(1);
        // As long as a time slice for each that may run before a waiter does, or its wait would be cut.
        let waits = most.div_ceil(plan.cpus.len()).saturating_sub(1) as u32;
        Self { ramp_up: window / 20, window, ramp_down: (TIME_SLICE * waits).clamp(TIME_SLICE, LONGEST_RAMP_DOWN) }
    }

    /// Of a thread that is alone: with a shorter window, and nobody whose load a last round would miss.
    pub fn alone(self, window: Duration) -> Self {
        let window = self.window.min(window);
        Self { ramp_up: window / 20, window, ramp_down: Duration::ZERO }
    }

    /// From the start to the stop.
    pub fn whole(&self) -> Duration {
        self.ramp_up + self.window + self.ramp_down
    }

    /// How many rounds without a lock are run before it.
    pub fn baseline_rounds(&self, recording_ns: f64) -> usize {
        let affordable = BASELINE_SHARE * self.window.as_nanos() as f64 / recording_ns;
        (affordable as usize).clamp(LEAST_BASELINE_ROUNDS, BASELINE_ROUNDS)
    }
}

/// When a wait ends it all.
#[derive(Clone, Copy)]
pub struct StopRule {
    pub above_ticks: u64,
    /// When the measurement began, in ticks.
    pub origin: u64,
}

/// What every thread needs.
#[derive(Clone, Copy)]
pub struct SliceSetup {
    pub clock: Clock,
    /// How long a lock is to be held, in ticks, and what takes about so long.
    pub hold_ticks: f64,
    pub hold: Work,
    /// The clock's step, in ticks.
    pub resolution: u64,
    /// Rounds without a lock before each slice.
    pub baseline_rounds: usize,
    /// What looks for a neighbour on the core, if anybody wants to know.
    pub probe: Option<Probe>,
    /// The wait that ends it all, if one does.
    pub stop: Option<StopRule>,
}

/// What a thread that takes the lock is called in the kernel's record.
pub const LOCKER: &CStr = c"locker";

impl SliceSetup {
    /// Rounds with this much work in each.
    fn way(&self, hold: Work) -> Way {
        Way { clock: self.clock, hold, probe: self.probe }
    }
}

/// For about so long the hold time is tried before each slice.
const HOLDS_FOR_NS: f64 = 500_000.0;
/// The grind's calibration is trusted that far.
const MOST_CORRECTION: f64 = 1.25;

/// A thread's part in a slice. It owns what it touches, since it may be left behind.
pub struct ThreadSlice {
    pub trace: Trace,
    /// Of a thread that is alone: it takes a second baseline when it has ended.
    pub spare: Option<Trace>,
    /// The thread records its own switches, because it may not see the whole CPU.
    pub own_record: bool,
    pub timeline: Option<Timeline>,
    pub task: u32,
    pub start: Option<u64>,
    pub baseline: Option<Baseline>,
    /// Those before and after the rounds, each with what the probes around it said.
    pub baselines: Vec<(Baseline, Probed)>,
    pub pairs: Option<Pairs>,
}

/// A lock and an unlock in loops that record no single ones, in ticks.
#[derive(Clone, Copy)]
pub struct Pairs {
    pub bare: f64,
    pub fenced: f64,
    /// What the probes around them said.
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
        // For the kernel's record; a thread without a name of its own works as well.
        let _ = rustix::thread::set_name(LOCKER);
        self.baseline = without_lock(&mut self.trace, setup, Work::of_loads(0), setup.baseline_rounds);
        self.baselines.extend(self.baseline.zip(self.trace.probed()));
        let hold = self.corrected_hold(setup);
        let mut recorder = self.own_record.then(|| own_recorder(setup.clock)).flatten();
        self.task = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        self.start = gate.ready();
        if self.start.is_some() {
            self.trace.limit_to(usize::MAX);
            lock.rounds(setup.way(hold), &mut self.trace, gate);
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

    /// The hold time at the speed that the core has now, which is not that of a second ago: as much work as takes so
    /// long.
    fn corrected_hold(&mut self, setup: &SliceSetup) -> Work {
        let Some(stamp) = self.baseline.filter(|_| setup.hold.loads() > 0) else { return setup.hold };
        let rounds = (setup.clock.to_ticks(HOLDS_FOR_NS) as f64 / setup.hold_ticks).clamp(3.0, 100.0) as usize;
        let Some(took) = without_lock(&mut self.trace, setup, setup.hold, rounds) else { return setup.hold };
        let correction = (setup.hold_ticks / (took.hold - stamp.hold)).clamp(1.0 / MOST_CORRECTION, MOST_CORRECTION);
        Work::of_loads((setup.hold.loads() as f64 * correction).round() as u64)
    }
}

/// A lock and an unlock in a bare loop and between fences.
pub fn probed_pairs(lock: &dyn AnyLock, setup: &SliceSetup) -> Pairs {
    // The thread is new: its first probe would find the probe's own code out of the caches.
    let _warm_up = setup.probe.map(|probe| probe.take());
    let before = setup.probe.map(|probe| probe.take());
    let (bare, fenced) = (lock.bare_pair(setup.clock), lock.fenced_pair(setup.clock));
    let after = setup.probe.map(|probe| probe.take());
    Pairs { bare, fenced, probed: before.zip(after).map(|(before, after)| Probed::between(before, after)) }
}

/// What so many rounds without a lock take.
fn without_lock(trace: &mut Trace, setup: &SliceSetup, hold: Work, rounds: usize) -> Option<Baseline> {
    trace.limit_to(rounds);
    loops::latency::without_lock().rounds(setup.way(hold), trace, &StartGate::endless(setup.clock));
    Baseline::without_lock(trace, setup.resolution)
}

/// Wants the CPU and nothing else.
pub fn compete(clock: Clock, gate: &StartGate) {
    // For the kernel's record; a thread without a name of its own competes as well.
    let _ = rustix::thread::set_name(c"competitor");
    if gate.ready().is_some() {
        while clock.now() < gate.stop() {
            Work::of_loads(64).run();
        }
    }
}

/// When rounds count. A full trace ends that for all where it ended its own.
pub fn window(setup: &SliceSetup, slice: Slice, parts: &[ThreadSlice]) -> Option<Range<u64>> {
    let start = parts.iter().find_map(|part| part.start)?;
    let opens = start + setup.clock.ticks_in(slice.ramp_up);
    let full = parts.iter().filter(|part| part.trace.is_full()).filter_map(|part| part.trace.rounds().last());
    let cut = full.map(|round| round.ended).min();
    let window = opens..cut.unwrap_or(u64::MAX).min(opens + setup.clock.ticks_in(slice.window));
    let rounds = || parts.iter().flat_map(|part| part.trace.rounds());
    let ends_it_all = |rule: StopRule| rounds().any(|round| round.lock() > rule.above_ticks);
    // What ends it all while nothing counts yet is all that there is.
    let is_early = setup.stop.is_some_and(ends_it_all) && !rounds().any(|round| window.contains(&round.began));
    Some(if is_early { start..window.end } else { window })
}

/// All traces together stay below this.
const TRACE_BYTES: usize = 512 << 20;

/// A trace for each thread of the largest cell, and one for the second baseline of a thread that is alone.
pub struct Traces {
    of_threads: Vec<Trace>,
    spare: Option<Trace>,
}

impl Traces {
    /// With room for the fastest lock there could be. The second value says why memory could not be locked, if it could
    /// not.
    pub fn for_plan(plan: &Plan, slice: Slice, recording_ns: f64) -> (Self, Option<String>) {
        let threads = plan.cells.iter().map(|cell| cell.threads).max().unwrap_or(1);
        let span = slice.whole().as_nanos() as f64;
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

    /// One for each of so many threads; with the spare one, for a thread that is alone.
    pub fn lend(&mut self, threads: usize, is_alone: bool) -> Vec<(Trace, Option<Trace>)> {
        let mut spare = if is_alone { self.spare.take() } else { None };
        self.of_threads.drain(..threads).map(|trace| (trace, spare.take())).collect()
    }

    /// Those that were lent.
    pub fn take_back(&mut self, lent: impl Iterator<Item = (Trace, Option<Trace>)>) {
        let (lent, spares): (Vec<Trace>, Vec<Option<Trace>>) = lent.unzip();
        // In front, so that few threads always write to the same memory.
        drop(self.of_threads.splice(0..0, lent));
        self.spare = self.spare.take().or(spares.into_iter().flatten().next());
    }
}

/// A recorder of the calling thread's own switches, started; `None` where that is not granted either: then nothing is
/// known of this thread.
pub fn own_recorder(clock: Clock) -> Option<Recorder> {
    let cpus = instruments::cpus::allowed().ok()?;
    let mut recorder = Recorder::open_with(clock, &cpus, Source::ThreadRecord).ok()?;
    recorder.start().ok()?;
    Some(recorder)
}
