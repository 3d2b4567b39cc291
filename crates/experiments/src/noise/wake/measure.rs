//! The measurement: turns of all intervals, in random order; in a turn every CPU has a thread, all from one instant.

use super::plan::WakePlan;
use super::record::WakeRow;
use super::row;
use super::turn::{Thread, TurnSetup};
use crate::noise::measure::LONGEST_REALTIME;
use anyhow::Context;
use harness::turns::{self, Rules, take_turns};
use harness::{Progress, Session, Shown};
use instruments::clock::Clock;
use instruments::cpus::schedule::bound_realtime;
use instruments::evidence::Recorder;
use instruments::team::{Member, StartGate, work_together};
use instruments::warning::Warning;
use record::{Unit, distinct};
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// What came of it.
pub struct WakeMeasured {
    pub rows: Vec<WakeRow>,
    /// The order in which the intervals, by number, had their turns.
    pub order: Vec<Vec<usize>>,
    pub warnings: Vec<Warning>,
}

/// An interval, and its threads.
struct Cell {
    interval: Duration,
    threads: Vec<Thread>,
    turns: u64,
}

/// Measures every interval of the plan.
pub fn run_plan(plan: &WakePlan, session: &Session, clock: Clock, progress: &Progress) -> anyhow::Result<WakeMeasured> {
    bound_realtime(LONGEST_REALTIME)?;
    let setup = TurnSetup { clock, origin: clock.now(), plan, interruption: &session.interruption };
    let mut records: BTreeMap<Option<usize>, Option<Recorder>> = BTreeMap::new();
    let mut cells: Vec<Cell> = plan.intervals.iter().map(|&interval| Cell::new(plan, interval)).collect();
    let rules =
        Rules { began: Instant::now(), budget: Some(plan.budget), precision: None, at_least: 0, at_most: plan.turns };
    let turns = take_turns(&mut cells, &rules, session, progress, |cell| cell.run(&setup, &mut records))?;
    let seen = cells.iter().flat_map(|cell| &cell.threads).flat_map(Thread::warnings);
    let warnings: Vec<Warning> = plan.warnings.iter().cloned().chain(seen).collect();
    let rows = cells.iter().flat_map(|cell| &cell.threads).flat_map(|thread| row::rows(thread, &setup, session));
    Ok(WakeMeasured { rows: rows.collect(), order: turns.order, warnings: distinct(&warnings, Warning::clone) })
}

impl Cell {
    fn new(plan: &WakePlan, interval: Duration) -> Self {
        let threads = match plan.is_pinned {
            true => plan.cpus.iter().map(|cpu| Thread::new(Some(cpu), interval)).collect(),
            false => vec![Thread::new(None, interval)],
        };
        Self { interval, threads, turns: 0 }
    }

    fn run(
        &mut self,
        setup: &TurnSetup<'_>,
        records: &mut BTreeMap<Option<usize>, Option<Recorder>>,
    ) -> anyhow::Result<ControlFlow<()>> {
        self.turns += 1;
        self.threads.iter().for_each(|thread| _ = records.entry(thread.cpu).or_default());
        let mut results: Vec<io::Result<()>> = self.threads.iter().map(|_| Ok(())).collect();
        let mut members = Vec::with_capacity(self.threads.len());
        // Both are in the order of the CPUs.
        for ((thread, record), result) in self.threads.iter_mut().zip(records.values_mut()).zip(&mut results) {
            let cpu = thread.cpu;
            let job = move |gate: &StartGate| *result = thread.turn(setup, record, gate);
            members.push(Member { cpu, job: Box::new(job) });
        }
        work_together(setup.clock, setup.plan.turn, members)?;
        for (thread, result) in self.threads.iter().zip(results) {
            let who = || thread.cpu.map_or_else(|| "the thread".to_owned(), |cpu| format!("the thread of CPU {cpu}"));
            result.with_context(who)?;
        }
        let is_stopped = self.threads.iter().any(|thread| thread.is_stopped);
        Ok(if is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

impl turns::Cell for Cell {
    fn title(&self) -> String {
        format!("wake-ups every {}", terminal::nanoseconds(self.interval.as_nanos() as f64))
    }

    /// How late the latest was.
    fn shown(&self) -> Option<Shown> {
        let accounts = self.threads.iter().flat_map(|thread| thread.accounts.values());
        let latest = accounts.filter_map(|account| Some(account.latest.first()?.late_us)).max_by(f64::total_cmp)?;
        Some(Shown::Figure { value: latest * 1e3, unit: Unit::Ns, more_is_better: false })
    }

    fn so_far(&self) -> String {
        let latest = self.threads.iter().flat_map(|thread| thread.accounts.values()).filter_map(|account| {
            let first = account.latest.first()?;
            Some((first.late_us, account, first))
        });
        let Some((_, account, late)) = latest.max_by(|a, b| a.0.total_cmp(&b.0)) else { return "nothing yet".into() };
        format!(
            "{} wake-ups on CPU {}, latest {} ({})",
            terminal::count(account.late().count()),
            account.cpu,
            terminal::nanoseconds(late.late_us * 1e3),
            harness::label(&late.cause)
        )
    }

    fn turns(&self) -> u64 {
        self.turns
    }
}
