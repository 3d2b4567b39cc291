//! The computation: each configuration some times, with other seeds.

use super::plan::{Cell, Plan, RUNS};
use super::record::Row;
use harness::{Interrupted, Progress, Session};
use instruments::statistics::Interval;
use instruments::statistics::coefficient_of_variation;
use instruments::statistics::order::sample_quantile;
use instruments::warning::{LeftOut, Warning};
use manycore::{Outcome, Setup, simulate};

/// The results and the warnings.
pub struct Computed {
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
}

/// Computes the rows of all configurations, or until the user interrupts: a configuration in progress is discarded.
pub fn compute(plan: &Plan, session: &Session, progress: &Progress) -> anyhow::Result<Computed> {
    let mut computed = Computed { rows: Vec::new(), warnings: plan.warnings.clone() };
    let is_stopped = || session.interruption.is_requested();
    for cell in &plan.cells {
        progress.note(&format!("modelling {} on {}", cell.lock, terminal::counted(cell.cores, "core")));
        let Some(row) = row(cell, plan, &is_stopped) else {
            if computed.rows.is_empty() {
                return Err(Interrupted.into());
            }
            let left = plan.cells.len() - computed.rows.len();
            let left = format!("the model of {}", terminal::counted(left, "configuration"));
            computed.warnings.push(LeftOut { what: left, reason: "interrupted".into() }.into());
            break;
        };
        computed.rows.push(row);
    }
    Ok(computed)
}

/// Returns the row of a configuration; `None` if it is interrupted.
fn row(cell: &Cell, plan: &Plan, is_stopped: &dyn Fn() -> bool) -> Option<Row> {
    let Cell { lock, threads, cores, nodes, work, run_ns, ref measured } = *cell;
    let runs: Option<Vec<Outcome>> = (0..RUNS)
        .map(|run| {
            let seed = plan.seed.wrapping_mul(RUNS).wrapping_add(run);
            let setup = Setup { lock, threads, cores, nodes, costs: plan.costs.costs, work, run_ns, seed };
            simulate(&setup, is_stopped)
        })
        .collect();
    let mut runs = runs?;
    runs.sort_by(|a, b| per_s(a).total_cmp(&per_s(b)));
    let (least, most) = (per_s(&runs[0]), per_s(&runs[runs.len() - 1]));
    let longest_ns = runs.iter().map(|run| run.longest_ns).fold(0.0, f64::max);
    let middle = runs.swap_remove(runs.len() / 2);
    Some(Row {
        lock: lock.to_owned(),
        threads,
        cores,
        nodes,
        nonhold_us: work.nonhold_ns / 1e3,
        hold_us: work.hold_ns / 1e3,
        touched_lines: work.lines,
        run_s: run_ns / 1e9,
        modelled_per_s: per_s(&middle),
        modelled_range_per_s: Interval::new(least, most),
        modelled_cov: coefficient_of_variation(&middle.iterations),
        modelled_wait_p50_ns: sample_quantile(&middle.waits_ns, 0.5),
        modelled_wait_p99_ns: sample_quantile(&middle.waits_ns, 0.99),
        modelled_wait_max_ns: longest_ns,
        modelled_switches_per_op: middle.switches,
        measured: measured.clone(),
    })
}

fn per_s(run: &Outcome) -> f64 {
    run.iterations.iter().sum::<u64>() as f64 / run.counted_ns * 1e9
}
