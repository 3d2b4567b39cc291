//! The measurement: windows of all cells, interleaved, until their intervals are narrow or the time is used up.

mod baseline;
mod causes;
mod cell;
mod latencies;
#[cfg(test)]
mod night;
mod other_threads;
mod row;
mod sections;
mod series;
mod slice;
mod stop;

pub use causes::UNEXPLAINED;

use super::plan::Plan;
use super::plan::StoppedWait;
use super::record::{Operation, Row};
use baseline::Control;
use cell::{Cell, EvidenceRecorder};
use harness::turns::{Rules, Turns, take_turns};
use harness::{Calibrated, EvidenceChoice, Progress, Session, SmtMonitor};
use instruments::clock::Clock;
use instruments::cpus::CpuSet;
use instruments::digits::percent;
use instruments::evidence::{EvidenceQuality, Source};
use instruments::statistics::EndedBy;
use instruments::warning::{BufferFull, MemoryNotLocked, Severity, Warning, WarningKind};
use loops::own_lock::{self, Lost};
use row::{Accuracy, Conditions, RowKey};
use serde::Serialize;
use slice::{HOLDS_FOR_NS, Pairs, Slice, SliceSetup, StopRule, Traces};
use std::ops::ControlFlow;
use std::time::Instant;
use terminal::nanoseconds;

/// The results of the experiment.
pub struct Measured {
    pub rows: Vec<Row>,
    /// The order of the repetitions of the cells, by number.
    pub order: Vec<Vec<usize>>,
    /// The cost of calling a shared object's lock and unlock; `None` where there is none.
    pub object_calls_ns: Option<f64>,
    pub warnings: Vec<Warning>,
    /// The shared object that ended the run, if one did.
    pub lost: Option<Lost>,
    /// The wait that ended the run, if one did.
    pub stopped: Option<StoppedWait>,
}

/// The width at which an interval is narrow enough: a lock differs by more from run to run.
const NARROW_NS: f64 = 1.0;
/// The minimum number of windows before a cell has converged: fewer give no interval for the median of the pairs, one
/// per window.
const LEAST_SLICES: u64 = 6;

/// Measures every cell of the plan, and reports the current one.
///
/// # Errors
/// The system refuses a lock or a thread; or a shared object crashed or blocked before there was a row.
pub fn run_plan(
    plan: &Plan,
    session: &Session,
    calibrated: &Calibrated,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    let mut measurement = Measurement::prepare(plan, session, calibrated)?;
    let turns = measurement.run(plan, session, progress)?;
    let Measurement { cells, monitor, .. } = &mut measurement;
    cells.iter_mut().for_each(|cell| cell.forget_if_wider(monitor));
    let rows = measurement.rows(plan, calibrated, &turns.ended);
    let mut warnings = measurement.warnings(plan, &rows, &turns, session);
    let has_object = plan.cells.iter().any(|cell| locks::is_object(&cell.lock));
    let object_calls_ns = has_object.then(|| baseline::object_calls_ns(calibrated)).transpose()?;
    let stopped = measurement.cells.iter_mut().find_map(|cell| cell.stopped.take());
    let was_lost = measurement.lost.is_some();
    let lost = measurement.end(calibrated.clock())?;
    warnings.extend(lost.iter().filter(|_| !was_lost).map(Lost::warning));
    match lost {
        Some(lost) if rows.is_empty() => Err(lost.into()),
        lost => Ok(Measured { rows, order: turns.order, object_calls_ns, warnings, lost, stopped }),
    }
}

/// The cells, the last of which is the reference, the memory for their traces, and their common data.
struct Measurement {
    cells: Vec<Cell>,
    traces: Traces,
    setup: SliceSetup,
    slice: Slice,
    recording_ns: f64,
    control: Option<Control>,
    not_locked: Option<String>,
    recorder: Option<EvidenceRecorder>,
    monitor: SmtMonitor,
    lost: Option<Lost>,
}

impl Measurement {
    fn prepare(plan: &Plan, session: &Session, calibrated: &Calibrated) -> anyhow::Result<Self> {
        let clock = calibrated.clock();
        let resolution = calibrated.quality.resolution_ticks;
        let narrow = resolution.max(clock.to_ticks(NARROW_NS));
        let cells = plan.cells.iter().map(|cell| Cell::new(cell, plan, clock, narrow));
        let cells: anyhow::Result<Vec<Cell>> = cells.chain([Cell::reference(plan, clock, narrow)]).collect();
        let slice = Slice::of_plan(plan);
        let recording_ns = baseline::recording_ns(calibrated)?;
        let control = Control::of(calibrated)?;
        let (traces, not_locked) = Traces::for_plan(plan, slice, recording_ns);
        let hold_ticks = plan.hold_ns / clock.ns_per_tick();
        let hold = calibrated.grind.work(plan.hold_ns);
        let baseline_rounds = slice.baseline_rounds(recording_ns, plan.most_on_a_cpu());
        let tested_ns = HOLDS_FOR_NS / plan.most_on_a_cpu() as f64;
        let monitor = SmtMonitor::open(session, clock);
        let above_ticks = plan.stop_above.map(|limit| clock.ticks_in(limit));
        let stop = above_ticks.map(|above_ticks| StopRule { above_ticks, origin: clock.now() });
        let probe = monitor.probe;
        let setup = SliceSetup { clock, hold_ticks, hold, resolution, baseline_rounds, tested_ns, probe, stop };
        let recorder =
            (plan.evidence == EvidenceChoice::Best).then(|| EvidenceRecorder::open(clock, &cpus_in_use(plan)));
        let (cells, lost) = (cells?, None);
        Ok(Self { cells, traces, setup, slice, recording_ns, control, not_locked, recorder, monitor, lost })
    }

    /// Runs the windows of all cells, interleaved.
    fn run(&mut self, plan: &Plan, session: &Session, progress: &Progress) -> anyhow::Result<Turns> {
        let Self { cells, traces, setup, slice, recorder, monitor, lost, .. } = self;
        take_turns(cells, &rules(plan, session), session, progress, |cell| {
            let has_story = setup.stop.is_some() && !cell.is_reference;
            let recorder = recorder.as_mut().filter(|_| has_story || cell.is_recorded_next());
            let flow =
                own_lock::or_lost(cell.run(setup, *slice, traces, recorder, monitor, &session.interruption), lost)?;
            Ok(if cell.stopped.is_some() { ControlFlow::Break(()) } else { flow })
        })
    }

    /// Ends the locks, and returns the shared object that was lost, if any.
    fn end(self, clock: Clock) -> anyhow::Result<Option<Lost>> {
        let Self { cells, mut lost, .. } = self;
        for cell in cells {
            // A lock whose threads are still in its code is not ended.
            let _ = own_lock::or_lost(cell.end(clock), &mut lost)?;
        }
        Ok(lost)
    }

    fn rows(&self, plan: &Plan, calibrated: &Calibrated, ended: &[EndedBy]) -> Vec<Row> {
        let mut rows = Vec::new();
        let evidence = self.recorder.as_ref().map_or(Source::None, |recorder| recorder.source);
        let reference = self.cells.iter().find(|cell| cell.is_reference);
        let (all, deciding) =
            (reference.map(|cell| &cell.series[0].all), reference.map(|cell| cell.series[0].deciding()));
        let accuracy = |operation| Accuracy::of(operation, all, self.control);
        let accuracy_alone = |operation| Accuracy::of(operation, deciding, self.control);
        for (cell, &ended_by) in self.cells.iter().zip(ended).filter(|(cell, _)| !cell.is_reference) {
            let conditions =
                Conditions::of(plan, cell, ended_by, calibrated, (self.recording_ns, self.control), evidence);
            let kinds: [fn(&Pairs) -> f64; 2] = [|pairs| pairs.bare, |pairs| pairs.fenced];
            let pairs = kinds.map(|kind| self.monitor.split(cell.probed_pairs(kind)));
            for (thread, series) in cell.series.iter().enumerate() {
                for operation in Operation::ALL {
                    let key = RowKey { cell: &cell.plan, thread, cpu: cell.cpu_of(thread), operation };
                    let row = row::row(&key, series.all.of(operation), &conditions, accuracy(operation));
                    let accuracy = accuracy_alone(operation);
                    let neighbour = row::by_neighbour(series, operation, &pairs, &conditions, accuracy);
                    rows.extend(row.map(|row| Row { neighbour, ..row }));
                }
            }
        }
        rows
    }

    fn warnings(&self, plan: &Plan, rows: &[Row], turns: &Turns, session: &Session) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Some(reason) = &self.not_locked {
            warnings.push(Warning::from(MemoryNotLocked { reason: reason.clone() }));
        }
        warnings.extend(self.recorder.iter().flat_map(|recorder| recorder.warnings.clone()));
        warnings.extend(self.cells.iter().filter_map(|cell| cell.ledger.as_ref()).flat_map(EvidenceQuality::warnings));
        for cell in self.cells.iter().filter(|cell| cell.cut_short) {
            warnings.push(Warning::from(BufferFull { what: cell.plan.to_string() }));
        }
        warnings.extend(rules(plan, session).not_converged(&self.cells, turns, ""));
        warnings.extend(turns.left_out());
        warnings.extend(hold_off(plan, rows));
        warnings.extend(self.monitor.warnings());
        warnings.extend(self.lost.iter().map(Lost::warning));
        warnings
    }
}

/// Returns the rules: a run with a long budget uses all of it, however precise the values are by then.
fn rules(plan: &Plan, session: &Session) -> Rules {
    Rules {
        began: Instant::now(),
        budget: Some(plan.budget),
        precision: (!session.is_long()).then_some(plan.precision),
        at_least: LEAST_SLICES,
        at_most: u64::MAX,
    }
}

/// Returns the CPUs on which the largest cell has threads or competitors.
fn cpus_in_use(plan: &Plan) -> CpuSet {
    let most = plan.cells.iter().map(|cell| cell.threads.max(cell.competitors)).max().unwrap_or(1);
    plan.cpus.iter().copied().take(most).collect()
}

/// A hold time that deviates by more than this is an error in contend.
const HOLD_OFF_SHARE: f64 = 0.02;
/// The precision limit of a hold time, which is the scatter of a few timestamps.
const HOLD_OFF_NS: f64 = 20.0;

/// Returns a warning about the row whose hold time deviated most from the requested one, if that is considerable.
fn hold_off(plan: &Plan, rows: &[Row]) -> Option<Warning> {
    let off = |row: &Row| row.held_us.map_or(0.0, |held| (held - row.hold_us).abs());
    let farthest = rows.iter().max_by(|a, b| off(a).total_cmp(&off(b)))?;
    let warning = HoldOff { what: farthest.lock.clone(), asked_ns: plan.hold_ns, held_ns: farthest.held_us? * 1e3 };
    (off(farthest) * 1e3 > (HOLD_OFF_SHARE * plan.hold_ns).max(HOLD_OFF_NS)).then(|| warning.into())
}

/// The warning that the lock was not held for the requested time.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct HoldOff {
    /// The lock whose hold time deviated most.
    what: String,
    asked_ns: f64,
    held_ns: f64,
}

impl WarningKind for HoldOff {
    const CODE: &'static str = "hold_off";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        let share = (self.held_ns / self.asked_ns - 1.0).abs();
        let requested = nanoseconds(self.asked_ns);
        format!(
            "{} was held for {} instead of {requested}: a deviation of {}",
            self.what,
            nanoseconds(self.held_ns),
            percent(share)
        )
    }

    fn remedy(&self) -> &'static str {
        "run again on a quieter machine, since the CPU's speed changed during the run; do not compare round trips of this run"
    }
}
