//! A reader on each of several CPUs, all from one instant: what is lost where, when, and at the same moment.

use super::cell::Cell;
use super::turn::TurnSetup;
use super::{Measured, row};
use crate::noise::cells::CellPlan;
use crate::noise::every_cpu::{Moments, TimeBins, role, together};
use crate::noise::plan::Plan;
use crate::noise::record::Row;
use anyhow::Context;
use harness::{Lookout, MINUTE, Progress, Session};
use instruments::clock::Clock;
use instruments::environment::Cpu;
use instruments::evidence::Recorder;
use instruments::team::{Member, StartGate, work_together};
use instruments::warning::Warning;
use record::distinct;
use std::io;
use std::time::{Duration, Instant};

/// Turns whose order is kept.
const MOST_TURNS: usize = 1_000;

/// One CPU, and what has been seen of it.
struct Watched {
    cell: Cell,
    record: Option<Recorder>,
    moments: Moments,
    bins: TimeBins,
    result: io::Result<()>,
}

/// Measures all CPUs of the plan together, turn after turn.
pub fn run_plan(plan: &Plan, session: &Session, clock: Clock, progress: &Progress) -> anyhow::Result<Measured> {
    let mut lookout = Lookout::open(session, clock);
    let setup = TurnSetup { clock, plan, probe: lookout.probe, interruption: &session.interruption, progress };
    let (origin, began) = (clock.now(), Instant::now());
    let budget = plan.budget.unwrap_or(Duration::from_secs(1));
    // A map without a planned end begins with a minute, and grows.
    let mapped = session.planned(budget).unwrap_or(MINUTE);
    let mut all: Vec<Watched> = plan.cpus.iter().map(|cpu| Watched::new(plan, cpu, clock, origin, mapped)).collect();
    let (mut order, mut last_turn) = (Vec::new(), Duration::ZERO);
    for _ in 0..plan.turns {
        // One as long as the last, with what comes beside its readings: what comes later is on no map.
        let (turn_began, is_late) = (Instant::now(), began.elapsed() + last_turn > budget);
        if is_late || session.interruption.is_requested() {
            break;
        }
        progress.note(&format!("{} CPUs", all.len()));
        let members = all.iter_mut().map(|one| one.member(&setup)).collect();
        work_together(clock, plan.turn, members)?;
        for one in &mut all {
            let result = std::mem::replace(&mut one.result, Ok(()));
            result.with_context(|| format!("the sampling thread of CPU {}", one.cell.plan.reader_cpu))?;
        }
        if order.len() < MOST_TURNS {
            order.push((0..all.len()).collect());
        }
        last_turn = turn_began.elapsed();
        progress.minute(|| so_far(&all));
        if all.iter().any(|one| one.cell.stopped.is_some()) {
            break;
        }
    }
    let shared = together(all.iter().map(|one| &one.moments), session.seed);
    all.iter().for_each(|one| lookout.learn_widths(one.cell.plan.reader_cpu, &one.cell.widths.all()));
    let rows: Vec<Row> = all
        .iter()
        .zip(shared)
        .filter_map(|(one, together)| {
            let row = alone_on_its_core(row::row(&one.cell, plan, &lookout)?, plan, &session.environment.cpu);
            let (lost_by_time, role) = (one.bins.shares(clock, began.elapsed()), role(row.cpu, &session.environment));
            Some(Row { together: Some(together), lost_by_time, role: Some(role), ..row })
        })
        .collect();
    let own = all.iter_mut().flat_map(|one| one.cell.warnings());
    let warnings: Vec<Warning> = plan.warnings.iter().cloned().chain(own).chain(lookout.warnings()).collect();
    Ok(Measured { rows, order, kept: super::GapTrace::default(), warnings: distinct(&warnings, Warning::clone) })
}

/// For a line of a long run: the CPU with the longest gap.
fn so_far(all: &[Watched]) -> String {
    let longest = |one: &&Watched| one.cell.longest.first(one.cell.clock).map_or(0.0, |gap| gap.length_us);
    let worst = all.iter().max_by(|a, b| longest(a).total_cmp(&longest(b)));
    worst.map_or_else(String::new, |one| format!("CPU {}: {}", one.cell.plan.reader_cpu, one.cell.words_so_far()))
}

/// Without what was seen of its core, if the neighbour there would be one of our own readers.
fn alone_on_its_core(row: Row, plan: &Plan, machine: &Cpu) -> Row {
    let is_ours = plan.cpus.iter().any(|other| other != row.cpu && machine.share_a_core(row.cpu, other));
    if is_ours {
        Row { core_shared_share: None, core_shared_share_ci: None, width_lost_share: None, ..row }
    } else {
        row
    }
}

impl Watched {
    fn new(plan: &Plan, cpu: usize, clock: Clock, origin: u64, budget: Duration) -> Self {
        let cell = CellPlan { reader_cpu: cpu, ..plan.cells[0].clone() };
        Self {
            cell: Cell::new(cell, clock, origin, false),
            record: None,
            moments: Moments::since(origin, clock),
            bins: TimeBins::over(origin, clock.ticks_in(budget)),
            result: Ok(()),
        }
    }

    fn member<'a>(&'a mut self, setup: &'a TurnSetup<'a>) -> Member<'a> {
        let Self { cell, record, moments, bins, result } = self;
        let cpu = cell.plan.reader_cpu;
        let job = move |gate: &StartGate| {
            *result = cell.read_alone(setup, record, gate, |watch| {
                moments.add(watch);
                bins.add(watch);
            });
        };
        Member { cpu: Some(cpu), job: Box::new(job) }
    }
}
