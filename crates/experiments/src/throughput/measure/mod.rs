//! The measurement: runs of all cells in turn, until their throughput is known or they have had their share of runs; and
//! the rows that they add up to.

mod cell;

use super::plan::{CellPlan, LEAST_RUNS, MOST_RUNS, Plan};
use super::record::{Row, ideal_per_s};
use super::ulockflex_2002;
use crate::estimates::{fields, median_of};
use cell::{Cell, throughput, times, window_ns};
use harness::turns::{Rules, Turns, take_turns};
use harness::{Calibrated, Progress, Session, SmtMonitor};
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::median;
use instruments::statistics::{EndedBy, Interval};
use instruments::warning::{LeftOut, Warning};
use locks::Reach;
use loops::own_lock::{Lost, or_lost};
use std::time::Instant;
use ulocks::Counts;

/// The results of the experiment.
pub struct Measured {
    pub rows: Vec<Row>,
    /// The order in which the cells, by number, had their turns.
    pub order: Vec<Vec<usize>>,
    pub warnings: Vec<Warning>,
    /// A shared object that ended it all.
    pub lost: Option<Lost>,
}

/// Measures every cell of the plan, and reports its progress.
///
/// # Errors
/// A lock, a thread or a process that the system refuses; a shared object that crashed or blocked before there was a row.
pub fn run_plan(
    plan: &Plan,
    session: &Session,
    calibrated: &Calibrated,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    locks::set_patience(plan.patience);
    let mut cells: Vec<Cell> = plan.cells.iter().cloned().map(Cell::new).collect();
    let rules = rules(plan, session);
    let mut monitor = SmtMonitor::open(session, calibrated.clock());
    let mut lost = None;
    let turns = take_turns(&mut cells, &rules, session, progress, |cell| {
        or_lost(cell.visit(plan, session, calibrated, &mut monitor), &mut lost)
    })?;
    for cell in &mut cells {
        // A lock in whose code threads remain is not ended.
        let _ = or_lost(cell.end(calibrated.clock()), &mut lost)?;
    }
    cells.iter_mut().for_each(|cell| cell.forget_if_wider(&monitor));
    let ended = cells.iter().zip(&turns.ended);
    let rows: Vec<Option<Row>> = ended.map(|(cell, &end)| row(cell, plan, calibrated, end)).collect();
    let wide = rules.not_converged(&cells, &turns, "the throughput of ").into_iter().chain(turns.left_out());
    let warnings = plan
        .left_out
        .iter()
        .cloned()
        .chain(empty(&cells, &rows, &turns))
        .chain(wide)
        .chain(monitor.warnings())
        .chain(lost.iter().map(Lost::warning))
        .collect();
    let rows: Vec<Row> = rows.into_iter().flatten().collect();
    match lost {
        Some(lost) if rows.is_empty() => Err(lost.into()),
        lost => Ok(Measured { rows, order: turns.order, warnings, lost }),
    }
}

/// Returns the cells without a counted loop that were not interrupted: a missing row is named.
fn empty(cells: &[Cell], rows: &[Option<Row>], turns: &Turns) -> impl Iterator<Item = Warning> {
    let ended = cells.iter().zip(rows).zip(&turns.ended);
    let empty = ended.filter(|((_, row), ended_by)| row.is_none() && **ended_by != EndedBy::Interrupted);
    empty.map(|((cell, _), _)| {
        let reason = "no loop of it was counted; a longer --run or --seconds, or fewer children, may measure it";
        Warning::from(LeftOut { what: cell.plan.to_string(), reason: reason.into() })
    })
}

/// Returns the rules: a measurement of a night takes all of its time, however narrow the intervals are by then.
fn rules(plan: &Plan, session: &Session) -> Rules {
    Rules {
        began: Instant::now(),
        budget: plan.budget,
        precision: (!session.is_long()).then_some(plan.precision),
        at_least: LEAST_RUNS,
        at_most: if session.is_long() { u64::MAX } else { MOST_RUNS },
    }
}

/// Returns the row of a cell; `None` when no loop was counted, or none in most of its runs.
pub fn row(cell: &Cell, plan: &Plan, calibrated: &Calibrated, ended_by: EndedBy) -> Option<Row> {
    let levels = cell.levels();
    let loops = throughput(&cell.throughputs, levels).filter(|loops| loops.value > 0.0)?;
    let throughput_per_s = loops.value;
    let (throughput_per_s_alone, throughput_per_s_alone_ci) = fields(cell.exclusive());
    let (throughput_per_s_shared, throughput_per_s_shared_ci) = fields(cell.split.shared);
    let is_checked = cell.plan.lock != locks::NONE;
    let (totals, counts) = (&cell.totals, cell.totals.counts);
    let (asked, observed) = (cell.plan.variations, &cell.observed);
    let (recovery_us, recovery_ci) = fields(observed.recovery_ns().map(in_us));
    let (rounds, reads) = (totals.all_rounds.max(1) as f64, totals.reads as f64);
    let hold_seen_ns = hold_seen_ns(cell, calibrated);
    // A bucket's middle may be above the longest, which is known exactly.
    let wait = |q| net_ns(cell.waits.quantile(q)?.min(cell.longest_wait_ticks), calibrated);
    let ideal_per_s = ideal_seen_per_s(&cell.plan, plan.cpus, hold_seen_ns);
    Some(Row {
        lock: cell.plan.lock.clone(),
        children: cell.plan.children,
        processes: plan.reach == Reach::Processes,
        locks: cell.plan.locks,
        nonhold_us: cell.plan.nonhold_ns / 1e3,
        hold_us: cell.plan.hold_ns / 1e3,
        share: cell.plan.share,
        hold_ratio: asked.hold_ratio,
        zipf_exponent: asked.zipf,
        touched_lines: asked.touched_lines,
        ramp: asked.ramp,
        stop_us: asked.stop_us,
        patience_us: patience_us(&cell.plan, plan),
        run_s: plan.run.as_secs_f64(),
        iterations: cell.throughputs.count() as usize,
        converged: ended_by == EndedBy::Converged,
        ended_by,
        write_contended_share: counts.map(|counts| share(counts.write_contended, rounds - reads)),
        read_contended_share: counts.map(|counts| share(counts.read_contended, reads)),
        retry: counts.map(|counts| retry(&cell.plan.lock, &counts)),
        cov: median(&cell.unevenness)?,
        cov_ci: median_of(&cell.unevenness).and_then(|cov| cov.interval),
        held_cov: median(&observed.held_cov),
        held_least_share: median(&observed.held_least),
        held_most_share: median(&observed.held_most),
        held_long_share: median(&observed.held_long),
        held_long_share_ci: median_of(&observed.held_long).and_then(|share| share.interval),
        steps: observed.steps(cell.plan.children),
        recovery_us,
        recovery_ci,
        recovery_window_us: observed.failed_share().map(|_| window_ns(times(plan)) / 1e3),
        recovery_failed_share: observed.failed_share(),
        recovery_curve: observed.curve(),
        throughput_per_s,
        throughput_ci: loops.interval,
        levels_per_s: levels,
        core_shared_share: cell.split.shared_share,
        core_correlation: cell.split.correlation,
        throughput_per_s_alone,
        throughput_per_s_alone_ci,
        throughput_per_s_shared,
        throughput_per_s_shared_ci,
        hold_seen_us: hold_seen_ns.map(|ns| ns / 1e3),
        ideal_per_s,
        ideal_share: ideal_per_s.map(|ideal| throughput_per_s / ideal),
        waits_count: cell.waits.count(),
        wait_p50_ns: wait(0.5),
        wait_p99_ns: wait(0.99),
        wait_max_ns: net_ns(cell.longest_wait_ticks, calibrated).filter(|_| !cell.waits.is_empty()),
        longest_streak: (cell.longest_streak > 0).then_some(cell.longest_streak),
        syscalls_per_op: syscalls_per_op(&cell.plan.lock, counts.as_ref(), rounds),
        voluntary_switches_per_op: totals.voluntary_switches as f64 / rounds,
        involuntary_switches_per_op: totals.involuntary_switches as f64 / rounds,
        counted_total: is_checked.then_some(cell.counted),
        lost_counts_total: is_checked.then_some(cell.lost_counts),
        counts_in_all_runs: plan.counts,
        cpus_used: totals.cpu_ns / totals.wall_ns.max(1.0),
        then: ulockflex_2002::figures(&cell.plan, patience_us(&cell.plan, plan)),
    })
}

fn in_us(ns: Estimate) -> Estimate {
    Estimate::new(ns.value / 1e3, ns.interval.map(|ends| Interval::new(ends.low / 1e3, ends.high / 1e3)))
}

/// Returns the spin limit of a lock that spins first; the other locks have none.
fn patience_us(cell: &CellPlan, plan: &Plan) -> f64 {
    if cell.lock.ends_with("-spin") { plan.patience.as_nanos() as f64 / 1e3 } else { 0.0 }
}

fn share(part: u64, whole: f64) -> f64 {
    if whole > 0.0 { part as f64 / whole } else { 0.0 }
}

/// Returns the time without the cost of a timestamp; `None` for a rest below the clock's step or a tenth of that cost.
fn net_ns(ticks: u64, calibrated: &Calibrated) -> Option<f64> {
    let (quality, cost) = (&calibrated.quality, calibrated.quality.stamp.mean_of_1000_ns);
    let net = calibrated.clock().to_ns(ticks) - cost;
    Some(net).filter(|net| *net >= quality.resolution_ns.max(0.1 * cost))
}

/// Returns the median of how long the lock was held, where it was to be held for some time.
fn hold_seen_ns(cell: &Cell, calibrated: &Calibrated) -> Option<f64> {
    cell.holds.quantile(0.5).and_then(|ticks| net_ns(ticks, calibrated)).filter(|_| cell.plan.hold_ns > 0.0)
}

/// Returns the ideal for the hold time that was seen. Work is a number of loads: when the CPU changes its speed, all of
/// it does.
fn ideal_seen_per_s(cell: &CellPlan, cpus: usize, hold_seen_ns: Option<f64>) -> Option<f64> {
    let slowness = hold_seen_ns.map_or(1.0, |seen| seen / cell.hold_ns);
    ideal_per_s(cell, cpus).map(|ideal| ideal / slowness)
}

/// Returns 2002's column R, which means one thing for a lock with handoff and another for one without.
fn retry(lock: &str, counts: &Counts) -> f64 {
    if lock.starts_with("calock") { counts.sleeps_per_contention() } else { counts.spun_share() * 100.0 }
}

/// Returns system calls per operation. Every operation of a System V semaphore is a call. For the other locks that
/// count, a sleep is a call and so is the wake-up that ends it. The rest is not counted.
fn syscalls_per_op(lock: &str, counts: Option<&Counts>, rounds: f64) -> Option<f64> {
    if lock == "sysv" { Some(2.0) } else { counts.map(|counts| 2.0 * counts.slept as f64 / rounds) }
}

#[cfg(test)]
mod tests {
    use super::cell::Outcome;
    use super::*;
    use crate::night::{passes_alone, resident_kib};
    use crate::throughput::plan::TIMED_EVERY;
    use crate::throughput::record::sample;
    use crossbeam_utils::CachePadded;
    use instruments::clock::Clock;
    use instruments::shared_memory::SharedArray;
    use loops::throughput::ChildCounters;
    use std::time::Duration;

    const HOUR: u64 = 3_600;
    const RUNS: u64 = 8 * HOUR;
    const CHILDREN: usize = 4;

    /// Returns whether the waits of a run are timed.
    fn is_timed(run: u64) -> bool {
        run.is_multiple_of(TIMED_EVERY)
    }

    /// Returns a second of four children that are never as fast as before, and of waits that do not repeat.
    fn outcome(run: u64, clock: Clock) -> Outcome {
        let mut children = SharedArray::from_fn(CHILDREN, |_| Ok(CachePadded::<ChildCounters>::default())).unwrap();
        for (place, child) in children.iter_mut().enumerate() {
            let serial = run * CHILDREN as u64 + place as u64;
            child.rounds = 1_000 + serial.wrapping_mul(2_654_435_761) % 100_000;
            child.all_rounds = child.rounds;
            child.wall_ticks = clock.ticks_in(Duration::from_secs(1));
            let waits = if is_timed(run) { 20 } else { 0 };
            let wait_ticks = |number: u64| (serial * 20 + number).wrapping_mul(2_654_435_761) % 10_000_000;
            (0..waits).for_each(|number| child.waits.add(wait_ticks(number)));
            child.longest_streak = serial % 100;
        }
        Outcome { children, counted_ns: 1e9, counts: None, stop: None }
    }

    /// Eight hours in the accounts: runs as children would bring them, without the waiting.
    #[test]
    #[ignore = "the test below runs it, alone in a process"]
    fn eight_hours() {
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let mut cell = Cell::new(sample::cell("std", CHILDREN, 0.0, 0.0));
        let mut after = Vec::new();
        for run in 0..RUNS {
            let outcome = outcome(run, clock);
            cell.add(&outcome, clock);
            if is_timed(run) {
                cell.add_waits(&outcome);
            }
            if (run + 1).is_multiple_of(HOUR) {
                after.push(resident_kib());
            }
        }
        assert_eq!(cell.throughputs.count(), RUNS);
        assert_eq!(cell.waits.count(), RUNS.div_ceil(TIMED_EVERY) * CHILDREN as u64 * 20);
        // Sixteen bytes a run would be half a MiB.
        assert!(after[7] < after[3] + 128, "{after:?}");
    }

    #[test]
    fn eight_hours_take_no_more_memory_than_four() {
        passes_alone("throughput::measure::tests::eight_hours");
    }
}
