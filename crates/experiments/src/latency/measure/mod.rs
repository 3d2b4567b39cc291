//! The measurement: slices of all cells in turn, until their intervals are narrow or the time is spent.

mod causes;
mod cell;
mod evidence_recorder;
mod other_threads;
mod rounds;
mod row;
mod series;
mod thread_slice;

pub use causes::UNEXPLAINED;

use super::plan::Plan;
use super::record::{Operation, Row};
use cell::{Cell, Slice};
use evidence_recorder::EvidenceRecorder;
use harness::turns::{Rules, Turns, take_turns};
use harness::{Calibrated, EvidenceChoice};
use harness::{Progress, Session};
use instruments::cpus::CpuSet;
use instruments::evidence::{EvidenceQuality, Source};
use instruments::grind::Work;
use instruments::statistics::EndedBy;
use instruments::team::on_cpu;
use instruments::warning::{BelowResolution, BufferFull, ClockCost, MemoryNotLocked, Warning};
use locks::NoLock;
use rounds::Trace;
use row::{Conditions, RowKey};
use series::{Baseline, OffsetTally, Series};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use thread_slice::SliceSetup;

/// What the experiment brought.
pub struct Measured {
    pub rows: Vec<Row>,
    /// The order in which the cells, by number, had their turns.
    pub order: Vec<Vec<usize>>,
    pub warnings: Vec<Warning>,
}

/// All traces together stay below this.
const TRACE_BYTES: usize = 512 << 20;
/// Slices a cell is divided into: enough to meet the machine's moods, few enough to see preemptions whole.
const SLICES_A_CELL: u32 = 12;
const SHORTEST_WINDOW: Duration = Duration::from_millis(5);
const LONGEST_WINDOW: Duration = Duration::from_millis(150);
/// No cell has converged before this many slices.
const LEAST_SLICES: u64 = 5;

/// Measures every cell of the plan, and says what it is at.
///
/// # Errors
/// A lock or a thread that the system refuses.
pub fn run_plan(
    plan: &Plan,
    session: &Session,
    calibrated: &Calibrated,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    let mut measurement = Measurement::prepare(plan, calibrated)?;
    let turns = measurement.run(plan, session, progress)?;
    let rows = measurement.rows(plan, calibrated, &turns.ended);
    let warnings = measurement.warnings(plan, &rows, &turns);
    Ok(Measured { rows, order: turns.order, warnings })
}

/// The cells, the memory for their traces, and what they are run with.
struct Measurement {
    cells: Vec<Cell>,
    traces: Vec<Trace>,
    setup: SliceSetup,
    slice: Slice,
    recording_ns: f64,
    not_locked: Option<String>,
    recorder: Option<EvidenceRecorder>,
}

impl Measurement {
    fn prepare(plan: &Plan, calibrated: &Calibrated) -> anyhow::Result<Self> {
        let clock = calibrated.clock();
        let hold = calibrated.grind.work(plan.hold_ns);
        let hold_ticks = plan.hold_ns / clock.ns_per_tick();
        let resolution_ticks = calibrated.quality.resolution_ticks;
        let cells: anyhow::Result<Vec<Cell>> =
            plan.cells.iter().map(|cell| Cell::new(cell, plan, resolution_ticks, hold_ticks as u64)).collect();
        let slice = slice_for(plan);
        let recording_ns = recording_cost(calibrated)?;
        let (traces, not_locked) = traces(plan, slice, recording_ns);
        // About 1.5 ms of rounds without a lock.
        let baseline_rounds = (1.5e6 / (plan.hold_ns + recording_ns)).clamp(5.0, 2_000.0) as usize;
        let recording_ticks = recording_ns / clock.ns_per_tick();
        let setup = SliceSetup { clock, hold, recording_ticks, resolution: resolution_ticks, baseline_rounds };
        let recorder =
            (plan.evidence == EvidenceChoice::Best).then(|| EvidenceRecorder::open(clock, &cpus_in_use(plan)));
        Ok(Self { cells: cells?, traces, setup, slice, recording_ns, not_locked, recorder })
    }

    /// Slices of all cells in turn.
    fn run(&mut self, plan: &Plan, session: &Session, progress: &Progress) -> anyhow::Result<Turns> {
        let Self { cells, traces, setup, slice, recorder, .. } = self;
        take_turns(cells, &rules(plan), session, progress, |cell| {
            let recorder = recorder.as_mut().filter(|_| cell.is_recorded_next());
            cell.run(setup, *slice, traces, recorder)?;
            Ok(ControlFlow::Continue(()))
        })
    }

    fn rows(&self, plan: &Plan, calibrated: &Calibrated, ended: &[EndedBy]) -> Vec<Row> {
        let mut rows = Vec::new();
        let evidence = self.recorder.as_ref().map_or(Source::None, EvidenceRecorder::source);
        for (cell, &ended_by) in self.cells.iter().zip(ended) {
            let conditions = Conditions::of(plan, cell, ended_by, calibrated, self.recording_ns, evidence);
            for (thread, series) in cell.series.iter().enumerate() {
                for (operation, latencies) in operations(series) {
                    let key = RowKey { cell: &cell.plan, thread, cpu: cell.cpu_of(thread), operation };
                    rows.extend(row::row(&key, latencies, &conditions));
                }
            }
        }
        rows
    }

    fn warnings(&self, plan: &Plan, rows: &[Row], turns: &Turns) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Some(reason) = &self.not_locked {
            warnings.push(Warning::from(MemoryNotLocked { reason: reason.clone() }));
        }
        warnings.extend(self.recorder.iter().flat_map(|recorder| recorder.warnings.clone()));
        warnings.extend(self.cells.iter().filter_map(|cell| cell.ledger.as_ref()).flat_map(EvidenceQuality::warnings));
        for cell in self.cells.iter().filter(|cell| cell.cut_short) {
            warnings.push(Warning::from(BufferFull { what: cell.plan.to_string() }));
        }
        warnings.extend(rules(plan).not_converged(&self.cells, turns, ""));
        warnings.extend(clock_cost(rows));
        let below = rows.iter().filter(|row| row.operation != Operation::RoundTrip && row.p50_ns < row.resolution_ns);
        if let Some(row) = below.min_by(|a, b| a.p50_ns.total_cmp(&b.p50_ns)) {
            let what = format!("the median of {} of {}", row.operation.noun(), row.lock);
            warnings.push(Warning::from(BelowResolution { what, resolution_ns: row.resolution_ns }));
        }
        warnings
    }
}

fn rules(plan: &Plan) -> Rules {
    Rules {
        began: Instant::now(),
        budget: Some(plan.budget),
        precision: Some(plan.precision),
        at_least: LEAST_SLICES,
        at_most: u64::MAX,
    }
}

/// The CPUs that the largest cell has threads or competitors on.
fn cpus_in_use(plan: &Plan) -> CpuSet {
    let most = plan.cells.iter().map(|cell| cell.threads.max(cell.competitors)).max().unwrap_or(1);
    plan.cpus.iter().copied().take(most).collect()
}

/// A timestamp is to cost at most this share of what it times.
const CLOCK_COST_SHARE: f64 = 0.05;

/// The fastest operation beside the cost of a timestamp, if that is considerable.
fn clock_cost(rows: &[Row]) -> Option<Warning> {
    let share = |row: &Row| row.clock_cost_ns / row.p50_ns.max(row.resolution_ns);
    let timed = rows.iter().filter(|row| row.operation != Operation::RoundTrip);
    let fastest = timed.max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let what = format!("{} {}", fastest.operation.noun(), fastest.lock);
    (share(fastest) > CLOCK_COST_SHARE).then(|| Warning::from(ClockCost { share: share(fastest), what }))
}

fn operations(series: &Series) -> [(Operation, &OffsetTally); 3] {
    [(Operation::Lock, &series.lock), (Operation::Unlock, &series.unlock), (Operation::RoundTrip, &series.round_trip)]
}

fn slice_for(plan: &Plan) -> Slice {
    let share = plan.budget / (plan.cells.len() as u32 * SLICES_A_CELL);
    let window = share.clamp(SHORTEST_WINDOW, LONGEST_WINDOW);
    let most = plan.cells.iter().map(|cell| cell.threads + cell.competitors).max().unwrap_or(1);
    // As long as a time slice for each that may run before a waiter does, or its wait would be cut.
    let waits = most.div_ceil(plan.cpus.len()).saturating_sub(1) as u32;
    Slice { ramp_up: window / 20, window, ramp_down: (TIME_SLICE * waits).clamp(TIME_SLICE, LONGEST_RAMP_DOWN) }
}

/// About the scheduler's time slice.
const TIME_SLICE: Duration = Duration::from_millis(4);
const LONGEST_RAMP_DOWN: Duration = Duration::from_millis(80);

/// A trace for each thread of the largest cell, with room for the fastest lock there could be.
fn traces(plan: &Plan, slice: Slice, recording_ns: f64) -> (Vec<Trace>, Option<String>) {
    let threads = plan.cells.iter().map(|cell| cell.threads).max().unwrap_or(1);
    let span = (slice.ramp_up + slice.window + slice.ramp_down).as_nanos() as f64;
    let rounds = (span / (plan.hold_ns + recording_ns / 2.0)) as usize + 4_096;
    let capacity = rounds.min(TRACE_BYTES / threads / size_of::<rounds::Round>());
    let made: Vec<_> = (0..threads).map(|_| Trace::with_capacity(capacity)).collect();
    let mut not_locked = None;
    let traces = made.into_iter().map(|(trace, refused)| {
        not_locked = refused.or(not_locked.take());
        trace
    });
    (traces.collect(), not_locked)
}

/// What recording a round costs, in nanoseconds: a round with neither a lock nor a hold time.
fn recording_cost(calibrated: &Calibrated) -> std::io::Result<f64> {
    const ROUNDS: usize = 20_000;
    let (clock, cpu) = (calibrated.clock(), calibrated.cpu);
    on_cpu(cpu, move || {
        let (mut trace, _) = Trace::with_capacity(ROUNDS);
        rounds::run(&NoLock, clock, Work::of_loads(0), &mut trace, |_| true);
        let baseline = Baseline::of(&trace, calibrated.quality.resolution_ticks).expect("the trace has rounds");
        (baseline.lock + baseline.unlock) * clock.ns_per_tick()
    })
}
