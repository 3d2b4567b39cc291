//! One thread's part in a slice.

use super::evidence_recorder::own_recorder;
use super::rounds::{self, Trace};
use super::series::Baseline;
use crossbeam_utils::CachePadded;
use instruments::clock::Clock;
use instruments::evidence::Timeline;
use instruments::grind::Work;
use instruments::team::StartGate;
use locks::{Builder, Lock, NoLock};
use std::io;

/// What every thread needs.
#[derive(Clone, Copy)]
pub struct SliceSetup {
    pub clock: Clock,
    pub hold: Work,
    /// What recording a round costs, in ticks, and the clock's step.
    pub recording_ticks: f64,
    pub resolution: u64,
    /// Rounds without a lock before each slice.
    pub baseline_rounds: usize,
}

/// A lock whose type is no longer known.
pub trait DynLock: Send + Sync {
    fn rounds(&self, setup: &SliceSetup, trace: &mut Trace, gate: &StartGate);
    fn bare_pair(&self, clock: Clock) -> f64;
}

impl<L: Lock> DynLock for CachePadded<L> {
    fn rounds(&self, setup: &SliceSetup, trace: &mut Trace, gate: &StartGate) {
        rounds::run(&**self, setup.clock, setup.hold, trace, |ended| ended < gate.stop());
    }

    fn bare_pair(&self, clock: Clock) -> f64 {
        rounds::bare_pair(&**self, clock)
    }
}

/// Makes a lock on cache lines of its own.
pub struct MakeLock;

impl Builder for MakeLock {
    type Output = Box<dyn DynLock>;

    fn build<L: Lock>(self) -> io::Result<Self::Output> {
        let mut lock = Box::new(CachePadded::new(L::create()?));
        lock.settle()?;
        Ok(lock)
    }
}

/// A thread's part in a slice.
pub struct ThreadSlice<'a> {
    pub trace: &'a mut Trace,
    /// The thread records its own switches, because it may not see the whole CPU.
    pub own_record: bool,
    pub timeline: Option<Timeline>,
    pub task: u32,
    pub start: Option<u64>,
    pub baseline: Option<Baseline>,
    pub bare_pair: Option<f64>,
}

impl<'a> ThreadSlice<'a> {
    pub fn new(trace: &'a mut Trace, own_record: bool) -> Self {
        Self { trace, own_record, timeline: None, task: 0, start: None, baseline: None, bare_pair: None }
    }

    pub fn work(&mut self, lock: &dyn DynLock, setup: &SliceSetup, gate: &StartGate) {
        // For the kernel's record; a thread without a name of its own works as well.
        let _ = rustix::thread::set_name(c"locker");
        let left = std::cell::Cell::new(setup.baseline_rounds);
        rounds::run(&NoLock, setup.clock, setup.hold, self.trace, |_| {
            left.set(left.get() - 1);
            left.get() > 0
        });
        self.baseline = Baseline::of(self.trace, setup.resolution);
        let mut recorder = self.own_record.then(|| own_recorder(setup.clock)).flatten();
        self.task = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        self.start = gate.ready();
        if self.start.is_some() {
            lock.rounds(setup, self.trace, gate);
            if self.trace.is_full() {
                gate.stop_at(setup.clock.now());
            }
            self.timeline = recorder.as_mut().and_then(|recorder| recorder.stop().ok());
        }
    }
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
