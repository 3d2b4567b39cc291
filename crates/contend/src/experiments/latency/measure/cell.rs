//! One cell: a lock, the threads that want it, and the competitors that want their CPU.

use super::rounds::{self, Trace};
use super::series::{Baseline, Series};
use crate::experiments::latency::flags::{CellPlan, Plan};
use crate::locks::{self, Builder, Lock, NoLock, Reach};
use anyhow::Context;
use instruments::clock::Clock;
use instruments::crew::{CrewError, Member, Muster, work_together};
use instruments::grind::Work;
use std::io;
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

impl Slice {
    fn whole(&self) -> Duration {
        self.ramp_up + self.window + self.ramp_down
    }
}

/// What every thread needs.
#[derive(Clone, Copy)]
pub struct Bench {
    pub clock: Clock,
    pub hold: Work,
    /// What recording a round costs, in ticks, and the clock's step.
    pub recording_ticks: f64,
    pub resolution: u64,
    /// Rounds without a lock before each slice.
    pub baseline_rounds: usize,
}

/// A lock whose type is no longer known.
trait Subject: Send + Sync {
    fn rounds(&self, bench: &Bench, trace: &mut Trace, muster: &Muster);
    fn bare_pair(&self, clock: Clock) -> f64;
}

/// A lock on cache lines of its own.
#[repr(align(128))]
struct Apart<L>(L);

impl<L: Lock> Subject for Apart<L> {
    fn rounds(&self, bench: &Bench, trace: &mut Trace, muster: &Muster) {
        rounds::run(&self.0, bench.clock, bench.hold, trace, |ended| ended < muster.stop());
    }

    fn bare_pair(&self, clock: Clock) -> f64 {
        rounds::bare_pair(&self.0, clock)
    }
}

struct MakeSubject;

impl Builder for MakeSubject {
    type Output = Box<dyn Subject>;

    fn build<L: Lock>(self) -> io::Result<Self::Output> {
        let mut lock = Box::new(Apart(L::create()?));
        lock.0.settle()?;
        Ok(lock)
    }
}

/// A cell and what has been measured of it.
pub struct Cell {
    pub plan: CellPlan,
    pub series: Vec<Series>,
    /// Lock and unlock in a bare, uncontended loop, in ticks, once before each slice.
    pub bare_pairs: Vec<f64>,
    pub slices: u64,
    /// A slice ended early because a trace was full.
    pub cut_short: bool,
    subject: Box<dyn Subject>,
    cpus: Vec<usize>,
}

impl Cell {
    /// Makes the lock.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(plan: &CellPlan, all: &Plan, resolution: u64, hold: u64) -> anyhow::Result<Self> {
        let subject = locks::build(&plan.lock, Reach::Threads, MakeSubject)
            .expect("the flags let only known names through")
            .with_context(|| format!("the lock `{}` could not be made", plan.lock))?;
        Ok(Self {
            plan: plan.clone(),
            series: (0..plan.threads).map(|_| Series::new(resolution, hold)).collect(),
            bare_pairs: Vec::new(),
            slices: 0,
            cut_short: false,
            subject,
            cpus: all.cpus.clone(),
        })
    }

    /// The CPU of a thread, or of a competitor, which follows the threads' order.
    pub fn cpu_of(&self, thread: usize) -> usize {
        self.cpus[thread % self.cpus.len()]
    }

    /// Runs one slice and adds it up.
    ///
    /// # Errors
    /// A thread that the system refuses.
    pub fn run(&mut self, bench: &Bench, slice: Slice, traces: &mut [Trace]) -> Result<(), CrewError> {
        let mut seats: Vec<Seat> = traces[..self.plan.threads].iter_mut().map(Seat::new).collect();
        let members = self.members(bench, &mut seats);
        work_together(bench.clock, slice.whole(), members)?;
        self.add_up(bench, slice, &seats);
        Ok(())
    }

    fn members<'a>(&'a self, bench: &'a Bench, seats: &'a mut [Seat<'_>]) -> Vec<Member<'a>> {
        let subject = self.subject.as_ref();
        let threads = seats.iter_mut().enumerate().map(|(thread, seat)| Member {
            cpu: Some(self.cpu_of(thread)),
            job: Box::new(move |muster: &Muster| {
                // The others take no lock before the start, so the first has it for itself.
                seat.bare_pair = (thread == 0).then(|| subject.bare_pair(bench.clock));
                seat.work(subject, bench, muster);
            }),
        });
        let competitors = (0..self.plan.competitors).map(|competitor| Member {
            cpu: Some(self.cpu_of(competitor)),
            job: Box::new(move |muster: &Muster| compete(bench.clock, muster)),
        });
        threads.chain(competitors).collect()
    }

    fn add_up(&mut self, bench: &Bench, slice: Slice, seats: &[Seat<'_>]) {
        let Some(start) = seats.iter().find_map(|seat| seat.start) else { return };
        let opens = start + bench.clock.ticks_in(slice.ramp_up);
        // A full trace ends the window for all where it ended its own.
        let full = seats.iter().filter(|seat| seat.trace.is_full()).filter_map(|seat| seat.trace.laps().last());
        let cut = full.map(|lap| lap.ended).min();
        let closes = cut.unwrap_or(u64::MAX).min(opens + bench.clock.ticks_in(slice.window));
        for (series, seat) in self.series.iter_mut().zip(seats) {
            if let Some(baseline) = seat.baseline {
                series.add(seat.trace, opens..closes, baseline, bench.recording_ticks);
            }
        }
        self.cut_short |= cut.is_some_and(|ended| ended < opens + bench.clock.ticks_in(slice.window));
        self.bare_pairs.extend(seats.iter().filter_map(|seat| seat.bare_pair));
        self.slices += 1;
    }
}

/// A thread's place in a slice.
struct Seat<'a> {
    trace: &'a mut Trace,
    start: Option<u64>,
    baseline: Option<Baseline>,
    bare_pair: Option<f64>,
}

impl<'a> Seat<'a> {
    fn new(trace: &'a mut Trace) -> Self {
        Self { trace, start: None, baseline: None, bare_pair: None }
    }

    fn work(&mut self, subject: &dyn Subject, bench: &Bench, muster: &Muster) {
        let left = std::cell::Cell::new(bench.baseline_rounds);
        rounds::run(&NoLock, bench.clock, bench.hold, self.trace, |_| {
            left.set(left.get() - 1);
            left.get() > 0
        });
        self.baseline = Baseline::of(self.trace, bench.resolution);
        self.start = muster.ready();
        if self.start.is_some() {
            subject.rounds(bench, self.trace, muster);
            if self.trace.is_full() {
                muster.stop_at(bench.clock.now());
            }
        }
    }
}

/// Wants the CPU and nothing else.
fn compete(clock: Clock, muster: &Muster) {
    if muster.ready().is_some() {
        while clock.now() < muster.stop() {
            Work::of_loads(64).run();
        }
    }
}
