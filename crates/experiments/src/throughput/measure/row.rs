//! The row that the runs of a cell add up to.

use super::cell::{Cell, throughput};
use crate::throughput::plan::{CellPlan, Plan};
use crate::throughput::record::{Row, ideal_per_s};
use crate::throughput::then;
use harness::Calibrated;
use instruments::statistics::order::median;
use instruments::statistics::stopping::EndedBy;
use locks::Reach;
use ulocks::Counts;

/// The row of a cell; `None` when no loop was counted, or none in most of its runs.
pub fn row(cell: &Cell, plan: &Plan, calibrated: &Calibrated, ended_by: EndedBy) -> Option<Row> {
    let levels = cell.levels();
    let loops = throughput(&cell.throughputs, levels).filter(|loops| loops.value > 0.0)?;
    let (throughput_per_s, exclusive) = (loops.value, cell.exclusive());
    let (totals, counts) = (&cell.totals, cell.totals.counts);
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
        patience_us: patience_us(&cell.plan, plan),
        run_s: plan.run.as_secs_f64(),
        iterations: cell.throughputs.count() as usize,
        converged: ended_by == EndedBy::Converged,
        ended_by,
        write_contended_share: counts.map(|counts| share(counts.write_contended, rounds - reads)),
        read_contended_share: counts.map(|counts| share(counts.read_contended, reads)),
        retry: counts.map(|counts| retry(&cell.plan.lock, &counts)),
        cov: median(&cell.unevenness)?,
        throughput_per_s,
        throughput_ci: loops.interval,
        levels_per_s: levels,
        core_shared_share: cell.split.shared_share,
        core_correlation: cell.split.correlation,
        throughput_per_s_alone: exclusive.map(|figure| figure.value),
        throughput_per_s_alone_ci: exclusive.and_then(|figure| figure.interval),
        throughput_per_s_shared: cell.split.shared.map(|figure| figure.value),
        throughput_per_s_shared_ci: cell.split.shared.and_then(|figure| figure.interval),
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
        cpus_used: totals.cpu_ns / totals.wall_ns.max(1.0),
        then: then::figures(&cell.plan, patience_us(&cell.plan, plan)),
    })
}

/// What a lock that spins first has; the others take none.
fn patience_us(cell: &CellPlan, plan: &Plan) -> f64 {
    if cell.lock.ends_with("-spin") { plan.patience.as_nanos() as f64 / 1e3 } else { 0.0 }
}

fn share(part: u64, whole: f64) -> f64 {
    if whole > 0.0 { part as f64 / whole } else { 0.0 }
}

/// Without what a timestamp costs; what is left of less than the clock's step or a tenth of that cost is not known.
fn net_ns(ticks: u64, calibrated: &Calibrated) -> Option<f64> {
    let (quality, cost) = (&calibrated.quality, calibrated.quality.stamp.mean_of_1000_ns);
    let net = calibrated.clock().to_ns(ticks) - cost;
    Some(net).filter(|net| *net >= quality.resolution_ns.max(0.1 * cost))
}

/// The median of how long the lock was held, where it was to be held for some time.
fn hold_seen_ns(cell: &Cell, calibrated: &Calibrated) -> Option<f64> {
    cell.holds.quantile(0.5).and_then(|ticks| net_ns(ticks, calibrated)).filter(|_| cell.plan.hold_ns > 0.0)
}

/// The ideal for the hold time that was seen. Work is a number of loads: when the CPU changes its speed, all of it
/// does.
fn ideal_seen_per_s(cell: &CellPlan, cpus: usize, hold_seen_ns: Option<f64>) -> Option<f64> {
    let slowness = hold_seen_ns.map_or(1.0, |seen| seen / cell.hold_ns);
    ideal_per_s(cell, cpus).map(|ideal| ideal / slowness)
}

/// 2002's column R, which means one thing for a lock that hands over and another for one that does not.
fn retry(lock: &str, counts: &Counts) -> f64 {
    if lock.starts_with("calock") { counts.sleeps_per_contention() } else { counts.spun_share() * 100.0 }
}

/// Every operation of a System V semaphore is a call. For the other locks that count, a sleep is a call and so is the
/// wake-up that ends it. Nobody counts for the rest.
fn syscalls_per_op(lock: &str, counts: Option<&Counts>, rounds: f64) -> Option<f64> {
    if lock == "sysv" { Some(2.0) } else { counts.map(|counts| 2.0 * counts.slept as f64 / rounds) }
}
