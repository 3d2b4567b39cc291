//! The measurement: batches of calls on all CPUs, interleaved. It prints nothing.

use super::plan::Plan;
use super::record::Row;
use crate::estimates::median_of;
use harness::turns::{self, Rules, take_turns};
use harness::{Progress, Session};
use instruments::clock::Clock;
use instruments::statistics::comparison::Estimate;
use instruments::team::on_cpu;
use instruments::warning::Warning;
use std::ops::ControlFlow;
use std::time::Instant;

/// The results of the experiment.
pub struct Measured {
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
}

/// A CPU, and the time of a call on it, by batch.
struct Cell {
    cpu: usize,
    calls_ns: Vec<f64>,
}

impl turns::Cell for Cell {
    fn title(&self) -> String {
        format!("calls on CPU {}", self.cpu)
    }

    fn turns(&self) -> u64 {
        self.calls_ns.len() as u64
    }

    fn figures(&self) -> Vec<Estimate> {
        median_of(&self.calls_ns).into_iter().collect()
    }
}

/// Measures until every interval is within 2 %, or the time is up.
pub fn run_plan(plan: &Plan, session: &Session, clock: Clock, progress: &Progress) -> anyhow::Result<Measured> {
    let mut cells: Vec<Cell> = plan.cpus.iter().map(|&cpu| Cell { cpu, calls_ns: Vec::new() }).collect();
    let (began, budget) = (Instant::now(), Some(plan.budget));
    let rules = Rules { began, budget, precision: Some(0.02), at_least: 20, at_most: 10_000 };
    let turns = take_turns(&mut cells, &rules, session, progress, |cell| {
        cell.calls_ns.push(on_cpu(cell.cpu, || batch(clock, plan.batch))?);
        Ok(ControlFlow::Continue(()))
    })?;
    let warnings = rules.not_converged(&cells, &turns, "").into_iter().collect();
    Ok(Measured { rows: cells.iter().filter_map(row).collect(), warnings })
}

/// Returns the time of a call, in ns.
fn batch(clock: Clock, calls: u32) -> f64 {
    let began = clock.stamp();
    for _ in 0..calls {
        // The C library does not cache the answer of this one: it calls the kernel each time.
        std::hint::black_box(rustix::process::getppid());
    }
    clock.to_ns(clock.stamp() - began) / f64::from(calls)
}

fn row(cell: &Cell) -> Option<Row> {
    let call = median_of(&cell.calls_ns)?;
    Some(Row { cpu: cell.cpu, batches: cell.calls_ns.len(), call_ns: call.value, call_ci_ns: call.interval })
}
