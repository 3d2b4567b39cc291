//! One thread's part in a slice.

use super::baseline::Baseline;
use super::evidence_recorder::own_recorder;
use super::slice::Slice;
use instruments::clock::Clock;
use instruments::evidence::Timeline;
use instruments::grind::Work;
use instruments::neighbour::{Probe, Probed};
use instruments::team::StartGate;
use loops::latency::{AnyLock, Trace, Way};
use std::ffi::CStr;
use std::ops::Range;

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
    Baseline::of(trace, setup.resolution)
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
