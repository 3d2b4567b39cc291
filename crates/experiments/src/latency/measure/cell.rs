//! One cell: a lock, the threads that want it, and the competitors that want their CPU.

use super::causes::{Laps, OtherThreads, SliceEvidence};
use super::rounds::{self, Trace};
use super::series::{Baseline, OffsetTally, Series};
use crate::latency::plan::{CellPlan, Plan};
use anyhow::Context;
use crossbeam_utils::CachePadded;
use harness::turns;
use instruments::clock::Clock;
use instruments::cpus::{self, CpuSet};
use instruments::evidence::{EvidenceQuality, Names, Recorder, Source, Timeline};
use instruments::grind::Work;
use instruments::statistics::comparison::Estimate;
use instruments::team::{Member, StartGate, work_together};
use instruments::warning::Warning;
use locks::{self, Builder, Lock, NoLock, Reach};
use std::io;
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

impl Slice {
    fn whole(&self) -> Duration {
        self.ramp_up + self.window + self.ramp_down
    }
}

/// Keeps the kernel's record of the slices with evidence.
pub struct EvidenceRecorder {
    source: Source,
    /// Of whole CPUs.
    recorder: Option<Recorder>,
    pub warnings: Vec<Warning>,
}

impl EvidenceRecorder {
    /// Opens the best record of these CPUs. A record of single threads is opened by each of them.
    pub fn open(clock: Clock, cpus: &CpuSet) -> Self {
        let recorder = Recorder::open(clock, cpus);
        let (source, warnings) = (recorder.source(), recorder.warnings().to_vec());
        match source {
            Source::CpuRecord => Self { source, recorder: Some(recorder), warnings },
            Source::ThreadRecord => Self { source, recorder: None, warnings },
            // The others know nothing of single waits; the threads' own timestamps still do.
            _ => Self { source: Source::None, recorder: None, warnings },
        }
    }

    pub fn source(&self) -> Source {
        self.source
    }

    fn begin(&mut self) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), Recorder::start)
    }

    /// The timeline of all CPUs, where that is what is recorded.
    fn end(&mut self) -> io::Result<Option<Timeline>> {
        self.recorder.as_mut().map(Recorder::stop).transpose()
    }
}

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
trait DynLock: Send + Sync {
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

struct MakeLock;

impl Builder for MakeLock {
    type Output = Box<dyn DynLock>;

    fn build<L: Lock>(self) -> io::Result<Self::Output> {
        let mut lock = Box::new(CachePadded::new(L::create()?));
        lock.settle()?;
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
    /// Slices with evidence.
    pub recorded: u64,
    /// What their evidence may lack.
    pub ledger: Option<EvidenceQuality>,
    /// A slice ended early because a trace was full.
    pub cut_short: bool,
    lock: Box<dyn DynLock>,
    cpus: Vec<usize>,
}

impl Cell {
    /// Makes the lock.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn new(plan: &CellPlan, all: &Plan, resolution: u64, hold: u64) -> anyhow::Result<Self> {
        let lock = locks::build(&plan.lock, Reach::Threads, MakeLock)
            .expect("the flags let only known names through")
            .with_context(|| format!("the lock `{}` could not be made", plan.lock))?;
        Ok(Self {
            plan: plan.clone(),
            series: (0..plan.threads).map(|_| Series::new(resolution, hold)).collect(),
            bare_pairs: Vec::new(),
            slices: 0,
            recorded: 0,
            ledger: None,
            cut_short: false,
            lock,
            cpus: all.cpus.clone(),
        })
    }

    /// The CPU of a thread, or of a competitor, which follows the threads' order.
    pub fn cpu_of(&self, thread: usize) -> usize {
        self.cpus[thread % self.cpus.len()]
    }

    /// Whether the next slice is one with evidence: the third, and then every fourth. Recording a switch takes time of
    /// the very waits that it explains, so such a slice tells causes and no latencies.
    pub fn is_recorded_next(&self) -> bool {
        (self.slices + self.recorded) % 4 == 2
    }

    /// Runs one slice and adds it up; with a recorder it is one with evidence.
    ///
    /// # Errors
    /// A thread that the system refuses; a record of the kernel's that cannot be read.
    pub fn run(
        &mut self,
        setup: &SliceSetup,
        slice: Slice,
        traces: &mut [Trace],
        recorder: Option<&mut EvidenceRecorder>,
    ) -> anyhow::Result<()> {
        let own_record = recorder.as_ref().is_some_and(|recorder| recorder.source() == Source::ThreadRecord);
        let mut parts: Vec<ThreadSlice> =
            traces[..self.plan.threads].iter_mut().map(|trace| ThreadSlice::new(trace, own_record)).collect();
        let members = self.members(setup, &mut parts);
        let Some(recorder) = recorder else {
            work_together(setup.clock, slice.whole(), members)?;
            self.add_up(setup, slice, &parts);
            return Ok(());
        };
        recorder.begin()?;
        work_together(setup.clock, slice.whole(), members)?;
        let timeline = recorder.end()?;
        self.add_evidence(setup, slice, &parts, timeline.as_ref());
        self.recorded += 1;
        Ok(())
    }

    fn members<'a>(&'a self, setup: &'a SliceSetup, parts: &'a mut [ThreadSlice<'_>]) -> Vec<Member<'a>> {
        let lock = self.lock.as_ref();
        let threads = parts.iter_mut().enumerate().map(|(thread, part)| Member {
            cpu: Some(self.cpu_of(thread)),
            job: Box::new(move |gate: &StartGate| {
                // The others take no lock before the start, so the first has it for itself.
                part.bare_pair = (thread == 0).then(|| lock.bare_pair(setup.clock));
                part.work(lock, setup, gate);
            }),
        });
        let competitors = (0..self.plan.competitors).map(|competitor| Member {
            cpu: Some(self.cpu_of(competitor)),
            job: Box::new(move |gate: &StartGate| compete(setup.clock, gate)),
        });
        threads.chain(competitors).collect()
    }

    fn add_up(&mut self, setup: &SliceSetup, slice: Slice, parts: &[ThreadSlice<'_>]) {
        let Some(window) = window(setup, slice, parts) else { return };
        for (series, part) in self.series.iter_mut().zip(parts) {
            if let Some(baseline) = part.baseline {
                series.add(part.trace, window.clone(), baseline, setup.recording_ticks);
            }
        }
        self.cut_short |= window.end < window.start + setup.clock.ticks_in(slice.window);
        self.bare_pairs.extend(parts.iter().filter_map(|part| part.bare_pair));
        self.slices += 1;
    }
}

impl Cell {
    /// Adds a slice with evidence; `timeline` is that of all CPUs, where there is one.
    fn add_evidence(
        &mut self,
        setup: &SliceSetup,
        slice: Slice,
        parts: &[ThreadSlice<'_>],
        timeline: Option<&Timeline>,
    ) {
        let Some(window) = window(setup, slice, parts) else { return };
        let nothing = empty_timeline(setup.clock, &window);
        let laps = Laps::of(parts.iter().map(|part| &*part.trace));
        timeline.into_iter().for_each(|timeline| self.enter(&timeline.quality));
        for (place, part) in parts.iter().enumerate() {
            // Who takes no lock waits for nobody.
            let others = if self.plan.lock == locks::NONE { OtherThreads::default() } else { laps.others(place) };
            part.timeline.iter().for_each(|own| self.enter(&own.quality));
            let Some(baseline) = part.baseline else { continue };
            let evidence = SliceEvidence {
                timeline: timeline.or(part.timeline.as_ref()).unwrap_or(&nothing),
                task: part.task,
                trace: part.trace,
                window: window.clone(),
                resolution: setup.resolution,
                others: &others,
            };
            self.series[place].attribute(&evidence, baseline, setup.recording_ticks);
        }
    }

    fn enter(&mut self, ledger: &EvidenceQuality) {
        match &mut self.ledger {
            Some(sum) => sum.absorb(ledger),
            none => *none = Some(ledger.clone()),
        }
    }
}

impl turns::Cell for Cell {
    fn title(&self) -> String {
        self.plan.to_string()
    }

    fn turns(&self) -> u64 {
        self.slices
    }

    /// The median and the 99.9 % quantile of every thread's locks and unlocks.
    fn figures(&self) -> Vec<Estimate> {
        let operations = self.series.iter().flat_map(|series| [&series.lock, &series.unlock]);
        operations.flat_map(OffsetTally::figures).collect()
    }

    /// Whether some round was timed.
    fn has_result(&self) -> bool {
        self.series.iter().any(|series| !series.lock.tally.is_empty())
    }
}

/// Of a thread that may record nothing: its own timestamps are all there is.
fn empty_timeline(clock: Clock, window: &Range<u64>) -> Timeline {
    Timeline::of_events(clock, Source::None, window.clone(), 0, Names::default(), &[])
}

/// When rounds count. A full trace ends that for all where it ended its own.
fn window(setup: &SliceSetup, slice: Slice, parts: &[ThreadSlice<'_>]) -> Option<Range<u64>> {
    let opens = parts.iter().find_map(|part| part.start)? + setup.clock.ticks_in(slice.ramp_up);
    let full = parts.iter().filter(|part| part.trace.is_full()).filter_map(|part| part.trace.laps().last());
    let cut = full.map(|lap| lap.ended).min();
    Some(opens..cut.unwrap_or(u64::MAX).min(opens + setup.clock.ticks_in(slice.window)))
}

/// A thread's part in a slice.
struct ThreadSlice<'a> {
    trace: &'a mut Trace,
    /// The thread records its own switches, because it may not see the whole CPU.
    own_record: bool,
    timeline: Option<Timeline>,
    task: u32,
    start: Option<u64>,
    baseline: Option<Baseline>,
    bare_pair: Option<f64>,
}

impl<'a> ThreadSlice<'a> {
    fn new(trace: &'a mut Trace, own_record: bool) -> Self {
        Self { trace, own_record, timeline: None, task: 0, start: None, baseline: None, bare_pair: None }
    }

    fn work(&mut self, lock: &dyn DynLock, setup: &SliceSetup, gate: &StartGate) {
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

/// A recorder of the calling thread's own switches, started; `None` where that is not granted either: then nothing is
/// known of this thread.
fn own_recorder(clock: Clock) -> Option<Recorder> {
    let cpus = cpus::allowed().ok()?;
    let mut recorder = Recorder::open_with(clock, &cpus, Source::ThreadRecord).ok()?;
    recorder.start().ok()?;
    Some(recorder)
}

/// Wants the CPU and nothing else.
fn compete(clock: Clock, gate: &StartGate) {
    // For the kernel's record; a thread without a name of its own competes as well.
    let _ = rustix::thread::set_name(c"competitor");
    if gate.ready().is_some() {
        while clock.now() < gate.stop() {
            Work::of_loads(64).run();
        }
    }
}
