//! One cell: a lock, the threads that contend for it, and the competitors for their CPU; its windows, with the kernel
//! trace of some of them; and its present state between its repetitions.

use super::causes::SliceEvidence;
use super::latencies;
use super::other_threads::{OtherThreads, OthersProbes, Rounds};
use super::sections::Sections;
use super::series::{Series, SliceRounds};
use super::slice::{Pairs, Slice, SliceSetup, ThreadSlice, Traces, compete, probed_pairs, window};
use super::stop::Ended;
use crate::estimates::median_of;
use crate::latency::plan::StoppedWait;
use crate::latency::plan::{CellPlan, Plan};
use anyhow::Context;
use harness::{Interruption, Shown, SmtMonitor, turns};
use instruments::clock::Clock;
use instruments::cpus::CpuSet;
use instruments::evidence::{EvidenceQuality, Names, Recorder, Source, Timeline};
use instruments::neighbour::{Probed, Sharing};
use instruments::statistics::Thinned;
use instruments::statistics::comparison::Estimate;
use instruments::team::{Member, StartGate};
use instruments::warning::Warning;
use loops::latency::AnyLock;
use loops::own_lock;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// A cell and its measured values.
pub struct Cell {
    pub plan: CellPlan,
    pub series: Vec<Series>,
    /// Lock and unlock in separate uncontended loops, once before each window.
    pub pairs: Thinned<Pairs>,
    pub slices: u64,
    /// The number of windows with evidence.
    pub recorded: u64,
    /// The coverage of their evidence.
    pub ledger: Option<EvidenceQuality>,
    /// Whether a window ended early because a trace was full.
    pub cut_short: bool,
    lock: Arc<dyn AnyLock>,
    cpus: Vec<usize>,
    /// The width in ticks within which an interval is narrow, whatever its value.
    narrow: u64,
    spent: Duration,
    told_at: u32,
    /// The nanoseconds of a tick, and the clock's step in ticks; known with its first window.
    scale: Option<(f64, u64)>,
    /// The begin of its first window, and the end of its last.
    first: Option<Instant>,
    last: Option<Instant>,
    /// The wait that ended the measurement.
    pub stopped: Option<StoppedWait>,
    /// The critical sections of a user-supplied lock that several threads contend for.
    pub sections: Option<Sections>,
    /// Whether it measures the measurement: see [`Cell::reference`].
    pub is_reference: bool,
}

/// The maximum window of a single thread.
///
/// It is not preempted for a time slice, but SMT interference may come and go within tens of milliseconds: its windows
/// are short, and have a baseline on either side.
const LONGEST_WINDOW_ALONE: Duration = Duration::from_millis(20);

impl Cell {
    /// Creates a loop without a lock, measured like the others: its reading should be zero, and its actual value is the
    /// error of all others.
    ///
    /// It is in no row.
    pub fn reference(all: &Plan, clock: Clock, narrow: u64) -> anyhow::Result<Self> {
        let plan = CellPlan { lock: locks::NONE.to_owned(), threads: 1, competitors: 0 };
        Ok(Self { is_reference: true, ..Self::new(&plan, all, clock, narrow)? })
    }

    /// Makes the lock.
    pub fn new(plan: &CellPlan, all: &Plan, clock: Clock, narrow: u64) -> anyhow::Result<Self> {
        let name = plan.lock.clone();
        let lock = own_lock::call(&plan.lock, clock, move || loops::latency::make(&name))??
            .expect("the flags let only known names through")
            .with_context(|| format!("the lock `{}` could not be made", plan.lock))?;
        Ok(Self {
            plan: plan.clone(),
            series: vec![Series::default(); plan.threads],
            pairs: Thinned::default(),
            slices: 0,
            recorded: 0,
            ledger: None,
            cut_short: false,
            lock,
            cpus: all.cpus.clone(),
            narrow,
            spent: Duration::ZERO,
            told_at: 0,
            scale: None,
            first: None,
            last: None,
            stopped: None,
            sections: (locks::is_object(&plan.lock) && plan.threads > 1).then(Sections::default),
            is_reference: false,
        })
    }

    /// Returns the CPU of a thread, or of a competitor, which follows the threads' order.
    pub fn cpu_of(&self, thread: usize) -> usize {
        self.cpus[thread % self.cpus.len()]
    }

    /// Returns the time from the beginning of its first window to the end of its last.
    pub fn span(&self) -> Duration {
        self.first.zip(self.last).map_or(Duration::ZERO, |(first, last)| last - first)
    }

    /// Returns the pairs of one kind that were probed.
    pub fn probed_pairs(&self, kind: fn(&Pairs) -> f64) -> impl Iterator<Item = (f64, &[Probed])> {
        self.pairs.iter().filter_map(move |pairs| Some((kind(pairs), std::slice::from_ref(pairs.probed.as_ref()?))))
    }

    /// Returns the median of the pairs of one kind over the windows, in ticks.
    pub fn pair(&self, kind: fn(&Pairs) -> f64) -> Option<Estimate> {
        median_of(&self.pairs.iter().map(kind).collect::<Vec<f64>>())
    }

    fn is_alone(&self) -> bool {
        self.plan.threads + self.plan.competitors == 1
    }

    /// Returns whether the next window is one with evidence: the third, and then every fourth. Latencies come first.
    ///
    /// Recording a switch takes time of the waits that it explains, so such a window gives causes and no latencies.
    pub fn is_recorded_next(&self) -> bool {
        !self.is_reference && turns::Cell::has_result(self) && (self.slices + self.recorded) % 4 == 2
    }

    /// Runs one window and adds it up; if evidence is due, and there is a recorder, it is one with evidence.
    pub fn run(
        &mut self,
        setup: &SliceSetup,
        slice: Slice,
        traces: &mut Traces,
        recorder: Option<&mut EvidenceRecorder>,
        monitor: &mut SmtMonitor,
        interruption: &Interruption,
    ) -> anyhow::Result<()> {
        let planned = if self.is_alone() { slice.alone(LONGEST_WINDOW_ALONE) } else { slice };
        // On a busy CPU a short window can pass while a thread waits for the CPU.
        let slice = if turns::Cell::has_result(self) { planned } else { planned.after_empty(self.slices) };
        self.spent += slice.total();
        self.first.get_or_insert_with(Instant::now);
        let own_record = recorder.as_ref().is_some_and(|recorder| recorder.source == Source::ThreadRecord);
        let parts = traces.lend(self.plan.threads, self.is_alone());
        let parts = parts.into_iter().map(|(trace, spare)| ThreadSlice::new(trace, spare, own_record)).collect();
        let (members, done) = self.members(*setup, parts);
        // The last thread may have to wait for the holds of all others.
        let rounds = Duration::from_nanos((setup.clock.to_ns(setup.hold_ticks as u64) * 2.0) as u64);
        let rounds = rounds.saturating_mul(self.plan.threads as u32);
        let work = || own_lock::work_at(&self.plan.lock, setup.clock, slice.total(), rounds, members, interruption);
        let tells_causes = recorder.is_some() && self.is_recorded_next();
        let timeline = match recorder {
            Some(recorder) => {
                recorder.begin()?;
                work()??;
                recorder.end()?
            }
            None => {
                work()??;
                None
            }
        };
        let parts = in_order(&done);
        if let Some(sections) = &mut self.sections {
            sections.add(parts.iter().map(|part| part.trace.rounds()), setup.clock);
        }
        self.stopped = setup.stop.filter(|_| !self.is_reference).and_then(|rule| {
            let cpus = (0..parts.len()).map(|thread| self.cpu_of(thread)).collect();
            let (plan, clock, timeline) = (&self.plan, setup.clock, timeline.as_ref());
            rule.first(&Ended { plan, clock, parts: &parts, cpus, timeline })
        });
        if tells_causes && (self.stopped.is_none() || turns::Cell::has_result(self)) {
            self.add_evidence(setup, slice, &parts, timeline.as_ref());
            self.recorded += 1;
        } else {
            self.add_up(setup, (slice, planned), &parts, monitor);
        }
        traces.take_back(parts.into_iter().map(|part| (part.trace, part.spare)));
        Ok(())
    }

    /// Returns threads and competitors, which own all data that they access, and the channel that returns the threads'
    /// parts.
    fn members(&self, setup: SliceSetup, parts: Vec<ThreadSlice>) -> (Vec<Member<'static>>, Receiver<Part>) {
        let (sender, done) = mpsc::channel();
        let threads = parts.into_iter().enumerate().map(|(thread, mut part)| {
            let (lock, sender) = (Arc::clone(&self.lock), sender.clone());
            let job = move |gate: &StartGate| {
                // The others take no lock before the start, so the first has it for itself.
                part.pairs = (thread == 0).then(|| probed_pairs(&*lock, &setup));
                part.work(&*lock, &setup, gate);
                // The part of an abandoned thread is not needed any more.
                let _ = sender.send((thread, part));
            };
            Member { cpu: Some(self.cpu_of(thread)), job: Box::new(job) }
        });
        let competitors = (0..self.plan.competitors).map(|competitor| Member {
            cpu: Some(self.cpu_of(competitor)),
            job: Box::new(move |gate: &StartGate| compete(setup.clock, gate)),
        });
        (threads.chain(competitors).collect(), done)
    }

    /// Ends the lock.
    ///
    /// # Errors
    /// A thread was lost in the code of a shared object.
    pub fn end(self, clock: Clock) -> anyhow::Result<()> {
        let Self { lock, plan, .. } = self;
        Ok(own_lock::call(&plan.lock, clock, move || drop(lock))??)
    }

    /// Discards the classification by a narrower core, wherever a wider one was seen.
    pub fn forget_if_wider(&mut self, monitor: &SmtMonitor) {
        if monitor.is_wider_since(&mut self.told_at) {
            self.series.iter_mut().for_each(Series::forget_neighbours);
        }
    }

    /// Adds a window up; it may be longer than planned.
    fn add_up(
        &mut self,
        setup: &SliceSetup,
        (slice, planned): (Slice, Slice),
        parts: &[ThreadSlice],
        monitor: &mut SmtMonitor,
    ) {
        let Some(window) = window(setup, slice, parts) else { return };
        let baselines = parts.iter().flat_map(|part| part.baselines.iter().map(|(_, probed)| *probed));
        let probes = parts.iter().flat_map(|part| part.trace.pieces().map(|(_, probed)| probed)).chain(baselines);
        probes.for_each(|probed| monitor.learn([&probed]));
        self.forget_if_wider(monitor);
        for (thread, (series, part)) in self.series.iter_mut().zip(parts).enumerate() {
            let Some(baseline) = part.baseline else { continue };
            for (baseline, probed) in &part.baselines {
                series.note(*baseline, monitor.sharing(&[*probed]));
            }
            let told_apart = part.trace.pieces().map(|(range, probed)| (range, monitor.sharing(&[probed])));
            let mut pieces: Vec<_> = told_apart.collect();
            let told_until = pieces.last().map_or(0, |(range, _)| range.end);
            pieces.push((told_until..part.trace.rounds().len(), Sharing::Neither));
            let (trace, window, resolution) = (&part.trace, window.clone(), setup.resolution);
            let probes = OthersProbes::of(parts.iter().map(|part| &part.trace), thread);
            series.add(&SliceRounds { trace, window, baseline, pieces, probes, resolution });
        }
        self.cut_short |= window.end < window.start + setup.clock.ticks_in(planned.window);
        self.pairs.extend(parts.iter().filter_map(|part| part.pairs));
        self.scale = Some((setup.clock.ns_per_tick(), setup.resolution));
        self.slices += 1;
        self.last = Some(Instant::now());
    }

    /// Adds a window with evidence; `timeline` is that of all CPUs, where there is one.
    fn add_evidence(&mut self, setup: &SliceSetup, slice: Slice, parts: &[ThreadSlice], timeline: Option<&Timeline>) {
        let Some(window) = window(setup, slice, parts) else { return };
        // A thread that may record nothing has only its own timestamps.
        let nothing = Timeline::of_events(setup.clock, Source::None, window.clone(), 0, Names::default(), &[]);
        let rounds = Rounds::of(parts.iter().map(|part| &part.trace));
        timeline.into_iter().for_each(|timeline| self.enter(&timeline.quality));
        for (place, part) in parts.iter().enumerate() {
            // A thread without a lock waits for no other.
            let others = if self.plan.lock == locks::NONE { OtherThreads::default() } else { rounds.others(place) };
            part.timeline.iter().for_each(|own| self.enter(&own.quality));
            let Some(baseline) = part.baseline else { continue };
            let evidence = SliceEvidence {
                timeline: timeline.or(part.timeline.as_ref()).unwrap_or(&nothing),
                task: part.task,
                trace: &part.trace,
                window: window.clone(),
                resolution: setup.resolution,
                others: &others,
                probes: &OthersProbes::of(parts.iter().map(|part| &part.trace), place),
            };
            self.series[place].attribute(&evidence, baseline, setup.hold_ticks);
        }
    }

    fn enter(&mut self, ledger: &EvidenceQuality) {
        match &mut self.ledger {
            Some(sum) => sum.absorb(ledger),
            none => *none = Some(ledger.clone()),
        }
    }
}

/// A thread's part of a window.
type Part = (usize, ThreadSlice);

/// Returns the parts in the order of the threads; all have ended.
fn in_order(done: &Receiver<Part>) -> Vec<ThreadSlice> {
    let mut parts: Vec<Part> = done.try_iter().collect();
    parts.sort_by_key(|(thread, _)| *thread);
    parts.into_iter().map(|(_, part)| part).collect()
}

/// The number of repetitions of the reference that is enough for an interval.
const REFERENCE_TURNS: u64 = 24;
/// The divisor of the time of an uncontended lock.
///
/// It is described by its pair, which is timed once per window whatever its length: such a configuration needs less
/// time than one that waits for the scheduler.
const LESS_ALONE: u32 = 2;

impl turns::Cell for Cell {
    fn title(&self) -> String {
        self.plan.to_string()
    }

    fn place(&self) -> (String, String) {
        let lock = if self.is_reference { "(no lock)" } else { &self.plan.lock };
        (lock.to_owned(), self.plan.conditions())
    }

    /// Returns the latency of locking in all threads.
    fn shown(&self) -> Option<Shown> {
        let (ns_per_tick, step) = self.scale.filter(|_| !self.is_reference)?;
        latencies::shown(self.series.iter().map(|series| &series.all.lock), ns_per_tick, step as f64 * ns_per_tick)
    }

    fn so_far(&self) -> String {
        let known = self.series.first().map(|series| &series.deciding().lock);
        let rounds = known.map_or(0, |lock| lock.count());
        format!("{} windows, {} iterations", terminal::count(self.slices), terminal::count(rounds))
    }

    fn turns(&self) -> u64 {
        self.slices
    }

    fn spent(&self) -> Duration {
        if self.is_alone() { self.spent * LESS_ALONE } else { self.spent }
    }

    /// Returns the median and the p99.9 of every thread's locks and unlocks; of an uncontended lock also its pair, by
    /// which it is ranked: without an interval of that the lock would have no rank.
    fn figures(&self) -> Vec<Estimate> {
        if self.is_reference {
            return Vec::new();
        }
        let deciding = self.series.iter().map(Series::deciding);
        let operations = deciding.flat_map(|known| [&known.lock, &known.unlock]);
        let quantiles = operations.flat_map(|known| known.figures(self.narrow));
        let pair = self.pair(|pairs| pairs.bare).filter(|_| self.is_alone());
        quantiles.chain(pair.map(|pair| Estimate { resolution: self.narrow as f64, ..pair })).collect()
    }

    /// Returns whether every thread had an iteration that was timed.
    fn has_result(&self) -> bool {
        self.series.iter().all(|series| series.all.lock.count() > 0)
    }

    fn is_over(&self) -> bool {
        self.is_reference && self.slices >= REFERENCE_TURNS
    }

    /// Returns whether it gives the accuracy of all others.
    fn is_needed(&self) -> bool {
        self.is_reference
    }
}

/// The kernel trace of the windows with evidence.
pub struct EvidenceRecorder {
    pub source: Source,
    /// The recorder of whole CPUs.
    recorder: Option<Recorder>,
    pub warnings: Vec<Warning>,
}

impl EvidenceRecorder {
    /// Opens the best kernel trace of these CPUs.
    ///
    /// A trace of single threads is opened by each of them.
    pub fn open(clock: Clock, cpus: &CpuSet) -> Self {
        let recorder = Recorder::open(clock, cpus);
        let (source, warnings) = (recorder.source(), recorder.warnings().to_vec());
        match source {
            Source::CpuRecord => Self { source, recorder: Some(recorder), warnings },
            Source::ThreadRecord => Self { source, recorder: None, warnings },
            // The other sources have no single waits; the threads' own timestamps do.
            _ => Self { source: Source::None, recorder: None, warnings },
        }
    }

    pub fn begin(&mut self) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), Recorder::start)
    }

    /// Returns the timeline of all CPUs, where that is recorded.
    pub fn end(&mut self) -> io::Result<Option<Timeline>> {
        self.recorder.as_mut().map(Recorder::stop).transpose()
    }
}
