//! One repetition of a cell, from a common start to a common end.
//!
//! There is a sampling thread, and the load that takes the CPU from it on purpose: the competitors and the rescheduler.

use super::following;
use crate::noise::cells::CellPlan;
use crate::noise::plan::Plan;
use anyhow::Context;
use harness::{EvidenceChoice, Interruption, Progress, Shown};
use instruments::clock::{Clock, thread_cpu_ns};
use instruments::cpus::CpuSet;
use instruments::cpus::schedule::{Schedule, reschedule_current_thread};
use instruments::evidence::preemption::PreemptionFlag;
use instruments::evidence::{Recorder, Source, Timeline};
use instruments::gaps::{Cost, Limit, Reader, Watch};
use instruments::grind::Work;
use instruments::neighbour::{Probe, Widths};
use instruments::team::{Member, StartGate, work_together};
use instruments::warning::Warning;
use rustix::thread::{Timespec, nanosleep, set_name};
use std::ffi::CStr;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The common data of every repetition.
pub struct TurnSetup<'a> {
    pub clock: Clock,
    pub plan: &'a Plan,
    /// The probe of the SMT sibling.
    pub probe: Option<Probe>,
    pub interruption: &'a Interruption,
    /// The receiver of each piece.
    pub progress: &'a Progress,
}

impl TurnSetup<'_> {
    /// Reports the lost share of a piece to a program that draws it.
    pub fn show(&self, cell: &CellPlan, watch: &Watch) {
        self.progress.show((cell.name.clone(), format!("CPU {}", cell.reader_cpu)), || {
            let lost: u64 = watch.gaps.iter().map(|gap| gap.length).sum();
            (watch.watched() > 0).then(|| Shown::Level(lost as f64 / watch.watched() as f64))
        });
    }
}

/// The sampling of one piece of a repetition, and its kernel trace.
pub struct Piece {
    pub watch: Watch,
    /// Whether the kernel preempted the sampling thread in each gap; empty where the kernel does not report it.
    pub preempted: Vec<bool>,
    pub timeline: Option<Timeline>,
    /// The widths of the core.
    pub widths: Widths,
    /// Whether the last gap exceeds the limit that ends the measurement.
    pub is_stopped: bool,
}

/// The sampling thread's observations of itself.
pub struct ReaderNotes {
    pub cost: Cost,
    pub source: Source,
    pub warnings: Vec<Warning>,
}

/// The results of a repetition in addition to its pieces.
pub struct Outcome {
    pub reader: ReaderNotes,
    pub competitors: Vec<Used>,
    pub rescheduler: Option<Used>,
}

/// The maximum number of gaps of a piece.
const CAPACITY: usize = 1 << 18;
/// The time for which a real-time sampling thread samples, …
const BURST: Duration = Duration::from_millis(90);
/// … and then sleeps, so that it cannot block the machine.
const REST: Duration = Duration::from_millis(10);
/// The interval of probing the core, which takes a few microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The length of a piece, for which the recorder has room even with a rescheduler that wakes 20,000 times per second.
const PIECE: Duration = Duration::from_secs(1);

/// Runs one repetition; `on_piece` receives each piece on the sampling thread as soon as it ends, and may end the
/// repetition.
///
/// `record` is the kernel trace of its CPU, opened if it is not yet.
pub fn run(
    setup: &TurnSetup<'_>,
    cell: &CellPlan,
    record: &mut Option<Recorder>,
    mut on_piece: impl FnMut(Piece) -> ControlFlow<()> + Send,
) -> anyhow::Result<Outcome> {
    let no_member = || Ok(Used::default());
    let mut reader = Err(io::Error::other("the sampling thread did not start"));
    let mut competitors: Vec<io::Result<Used>> =
        cell.competitor.map_or_else(Vec::new, |_| (0..setup.plan.contest.competitors).map(|_| no_member()).collect());
    let mut rescheduler = cell.rescheduler.map(|_| no_member());

    let over = &AtomicBool::new(false);
    // Outside of the job, which is dropped unrun where the sampling thread cannot begin.
    let (ends, notes, on_piece) = (SetOnDrop(over), &mut reader, &mut on_piece);
    let mut members = vec![Member {
        cpu: Some(cell.reader_cpu),
        job: Box::new(move |gate: &StartGate| {
            let _ends = ends;
            *notes = read(setup, cell, record, gate, on_piece);
        }),
    }];
    let place = (setup.clock, setup.plan.contest.cpu);
    for (used, schedule) in competitors.iter_mut().zip(cell.competitor.into_iter().cycle()) {
        members.push(intruder(place, over, used, (COMPETITOR, schedule), || Work::of_loads(64).run()));
    }
    for (used, period) in rescheduler.iter_mut().zip(cell.rescheduler) {
        members.push(intruder(place, over, used, (c"rescheduler", RESCHEDULER), move || sleep(period)));
    }
    work_together(setup.clock, setup.plan.turn, members)?;
    Ok(Outcome {
        reader: reader.context("the reader")?,
        competitors: competitors.into_iter().collect::<io::Result<_>>().context("a competitor")?,
        rescheduler: rescheduler.transpose().context("the rescheduler")?,
    })
}

/// A guard that signals that the sampling thread has read the kernel trace, however its repetition ended.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The name of a competitor's thread in the kernel trace.
pub const COMPETITOR: &CStr = c"competitor";
const RESCHEDULER: Schedule = Schedule::Fifo { priority: 1 };

/// Runs work between pieces on an ordinary thread: it may take long, and a thread started by a real-time thread would
/// be real-time too.
fn at_ordinary_rank<T>(cell: &CellPlan, work: impl FnOnce() -> T) -> io::Result<T> {
    if cell.reader_rests() {
        reschedule_current_thread(Schedule::Fair { nice: 0, slice: None })?;
    }
    let done = work();
    if cell.reader_rests() {
        reschedule_current_thread(cell.reader)?;
    }
    Ok(done)
}

/// Runs the sampling thread's repetition.
pub fn read(
    setup: &TurnSetup<'_>,
    cell: &CellPlan,
    record: &mut Option<Recorder>,
    gate: &StartGate,
    on_piece: &mut impl FnMut(Piece) -> ControlFlow<()>,
) -> io::Result<ReaderNotes> {
    let clock = setup.clock;
    // Calibrated before the others begin, and before the thread becomes a real-time one.
    let mut eye = GapWatcher::open(setup, cell, record);
    let notes = eye.notes();
    let ranked = take_rank(c"reader", cell.reader);
    let begins = gate.ready().is_some();
    ranked.inspect_err(|_| gate.stop_at(clock.now()))?;
    if !begins {
        return Ok(notes);
    }
    let mut left = setup.plan.samples;
    let longest = if cell.reader_rests() { BURST } else { PIECE };
    // An interval is a number of whole pieces.
    let length = setup
        .plan
        .interval
        .map_or(longest, |interval| interval.div_f64(interval.div_duration_f64(longest).ceil().max(1.0)));
    loop {
        let until_stop = Duration::from_nanos(clock.to_ns(gate.stop().saturating_sub(clock.now())) as u64);
        if until_stop.is_zero() || left == 0 || setup.interruption.is_requested() {
            break;
        }
        let piece = eye.read(Limit { length: length.min(until_stop), passes: left }, setup.interruption);
        let piece = piece.inspect_err(|_| gate.stop_at(clock.now()))?;
        left -= piece.watch.passes.min(left);
        let is_stopped = piece.is_stopped;
        if at_ordinary_rank(cell, || on_piece(piece))?.is_break() || is_stopped {
            break;
        }
        if cell.reader_rests() {
            sleep(REST);
        }
    }
    gate.stop_at(clock.now());
    Ok(notes)
}

/// The sampling thread with its kernel trace.
struct GapWatcher<'a> {
    reader: Reader,
    probe: Option<Probe>,
    recorder: Option<&'a mut Recorder>,
    flag: Option<PreemptionFlag>,
    preempted: Vec<bool>,
    /// The limit in ticks; a longer gap ends the measurement.
    stop_above: u64,
}

impl<'a> GapWatcher<'a> {
    fn open(setup: &TurnSetup<'_>, cell: &CellPlan, record: &'a mut Option<Recorder>) -> Self {
        let wanted = setup.plan.evidence == EvidenceChoice::Best;
        let recorder = wanted.then(|| following(record, setup.clock, &CpuSet::single(cell.reader_cpu)));
        Self {
            reader: Reader::new(setup.clock, CAPACITY),
            probe: setup.probe,
            recorder,
            flag: wanted.then(PreemptionFlag::of_current_thread).flatten(),
            // The value true makes sure that the memory is touched.
            preempted: vec![true; CAPACITY],
            stop_above: setup.plan.stop_above.map_or(u64::MAX, |limit| setup.clock.ticks_in(limit)),
        }
    }

    fn notes(&mut self) -> ReaderNotes {
        ReaderNotes {
            cost: self.reader.cost(),
            source: self.recorder.as_ref().map_or(Source::None, |recorder| recorder.source()),
            warnings: self.recorder.as_ref().map_or_else(Vec::new, |recorder| recorder.warnings().to_vec()),
        }
    }

    fn read(&mut self, limit: Limit, interruption: &Interruption) -> io::Result<Piece> {
        let Self { reader, probe, recorder, flag, preempted, stop_above } = self;
        if let Some(recorder) = recorder {
            recorder.start()?;
        }
        if let Some(flag) = flag {
            flag.set();
        }
        let mut is_stopped = false;
        let (mut widths, every) = (Widths::default(), if probe.is_some() { LOOK_EVERY } else { limit.length });
        let look = || probe.iter().for_each(|probe| widths.add(probe.take().cycles));
        let watch = reader.read_and_look(limit, every, look, |number, gap| {
            if let Some(flag) = flag {
                preempted[number] = flag.was_cleared();
                flag.set();
            }
            is_stopped = gap.length > *stop_above;
            if is_stopped || interruption.is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let timeline = recorder.as_mut().map(|recorder| recorder.stop()).transpose()?;
        let seen = if flag.is_some() { watch.gaps.len() } else { 0 };
        Ok(Piece { watch, preempted: preempted[..seen].to_vec(), timeline, widths, is_stopped })
    }
}

/// The CPU time that a competitor or the rescheduler used between start and end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    pub cpu_ns: f64,
    pub wall_ns: f64,
    /// The number of work iterations, or of wake-ups.
    pub rounds: u64,
}

impl Used {
    pub fn add(&mut self, other: Self) {
        self.cpu_ns += other.cpu_ns;
        self.wall_ns += other.wall_ns;
        self.rounds += other.rounds;
    }
}

/// Returns a member that runs on the sampling thread's CPU, with a name and a scheduling policy, repeats `round` and
/// stays until the sampling thread's repetition is `over`.
fn intruder<'a>(
    (clock, cpu): (Clock, usize),
    over: &'a AtomicBool,
    used: &'a mut io::Result<Used>,
    (name, schedule): (&'static CStr, Schedule),
    round: impl Fn() + Send + 'a,
) -> Member<'a> {
    let job = move |gate: &StartGate| {
        let _stays = StayUntil(over);
        *used = intrude(clock, gate, name, schedule, round);
    };
    Member { cpu: Some(cpu), job: Box::new(job) }
}

/// A guard that keeps the intruder asleep but alive: the name of an ended thread cannot be read.
struct StayUntil<'a>(&'a AtomicBool);

impl Drop for StayUntil<'_> {
    fn drop(&mut self) {
        while !self.0.load(Ordering::Acquire) {
            sleep(Duration::from_millis(1));
        }
    }
}

/// Names the calling thread, for the kernel trace, and schedules it as planned.
fn take_rank(name: &CStr, schedule: Schedule) -> io::Result<()> {
    set_name(name)?;
    reschedule_current_thread(schedule)
}

/// Repeats `round` from the start to the end with the given scheduling policy.
fn intrude(clock: Clock, gate: &StartGate, name: &CStr, schedule: Schedule, round: impl Fn()) -> io::Result<Used> {
    let ranked = take_rank(name, schedule);
    let start = gate.ready();
    ranked.inspect_err(|_| gate.stop_at(clock.now()))?;
    let Some(start) = start else { return Ok(Used::default()) };
    let before = thread_cpu_ns();
    let mut rounds = 0;
    while clock.now() < gate.stop() {
        round();
        rounds += 1;
    }
    Ok(Used { cpu_ns: (thread_cpu_ns() - before) as f64, wall_ns: clock.to_ns(clock.now() - start), rounds })
}

/// Sleeps in one system call, which is not repeated after a signal.
pub fn sleep(length: Duration) {
    let wanted = Timespec { tv_sec: length.as_secs() as i64, tv_nsec: i64::from(length.subsec_nanos()) };
    let _ = nanosleep(&wanted);
}
