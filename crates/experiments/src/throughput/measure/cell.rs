//! One cell: its locks, its runs, and the row they add up to.

use super::child::{Dealt, DynLock, Exclusive, Guarded, LoopSpec, WithReaders, together};
use super::counters::ChildCounters;
use super::phase::RunPhase;
use crate::throughput::plan::{CellPlan, Plan, TIMED_EVERY};
use crate::throughput::record::{Row, coefficient_of_variation, ideal_per_s};
use crate::throughput::then;
use anyhow::{Context, bail};
use crossbeam_utils::CachePadded;
use harness::{Calibrated, Session, turns};
use instruments::clock::Clock;
use instruments::shared_memory::SharedArray;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::stopping::EndedBy;
use instruments::statistics::summary::CONFIDENCE;
use instruments::tally::Tally;
use instruments::team::{Member, StartGate, work_together, work_together_as_processes};
use locks::{self, Builder, Lock, Reach, SharedBuilder, SharedLock};
use std::io;
use std::time::Duration;
use ulocks::Counts;

/// A cell and what has been measured of it.
pub struct Cell {
    pub plan: CellPlan,
    /// Loops of all children a second, one for each counted run.
    pub throughputs: Vec<f64>,
    /// How unevenly the children looped, one for each counted run.
    unevenness: Vec<f64>,
    totals: Totals,
    waits: Tally,
    holds: Tally,
    longest_wait_ticks: u64,
    longest_streak: u64,
    visits: u64,
    loops_counted: u64,
    lock: Option<Box<dyn DynLock>>,
}

/// Sums over all counted runs.
#[derive(Default)]
struct Totals {
    all_rounds: u64,
    reads: u64,
    cpu_ns: f64,
    wall_ns: f64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    counts: Option<Counts>,
}

/// What a run that has ended leaves.
struct Outcome {
    children: SharedArray<CachePadded<ChildCounters>>,
    counted_ns: f64,
    counts: Option<Counts>,
}

impl Cell {
    pub fn new(plan: CellPlan) -> Self {
        Self {
            throughputs: Vec::new(),
            unevenness: Vec::new(),
            totals: Totals::default(),
            waits: Tally::new(),
            holds: Tally::new(),
            longest_wait_ticks: 0,
            longest_streak: 0,
            visits: 0,
            loops_counted: 0,
            lock: None,
            plan,
        }
    }

    /// One counted run, and now and then one with timestamps; the first visit warms up before.
    ///
    /// # Errors
    /// A lock, a thread or a process that the system refuses; a lock that does not exclude.
    pub fn visit(&mut self, plan: &Plan, session: &Session, calibrated: &Calibrated) -> anyhow::Result<()> {
        if self.visits == 0 {
            self.run(plan, session, calibrated, false)?;
        }
        let goes_on = || !session.interruption.is_requested();
        if goes_on() {
            let counted = self.run(plan, session, calibrated, false)?;
            self.add(&counted, calibrated.clock());
        }
        if self.visits.is_multiple_of(TIMED_EVERY) && goes_on() {
            let timed = self.run(plan, session, calibrated, true)?;
            self.add_waits(&timed);
        }
        self.visits += 1;
        Ok(())
    }

    fn run(&mut self, plan: &Plan, session: &Session, calibrated: &Calibrated, timed: bool) -> anyhow::Result<Outcome> {
        if self.lock.is_none() {
            self.lock = Some(make_locks(&self.plan, plan.reach)?);
        }
        let lock = self.lock.as_deref().expect("made above");
        let spec = self.loop_spec(session, calibrated, timed);
        let phase = SharedArray::from_fn(1, |_| Ok(CachePadded::new(RunPhase::new())))?;
        let mut children = SharedArray::from_fn(self.plan.children, |_| Ok(CachePadded::default()))?;
        lock.reset_streaks();
        let (counts_before, protected_before) = (lock.counts(), lock.protected_rounds());
        perform(plan, session, lock, &spec, &phase[0], &mut children)
            .with_context(|| format!("{} could not be measured", self.plan))?;
        let protected: u64 = children.iter().map(|child: &CachePadded<ChildCounters>| child.protected_rounds).sum();
        if self.plan.lock != locks::NONE && lock.protected_rounds() - protected_before != protected {
            bail!("{} does not exclude: of {protected} updates under the lock some were lost", self.plan.lock);
        }
        let counts = lock.counts().zip(counts_before).map(|(after, before)| difference(after, before));
        Ok(Outcome { children, counted_ns: calibrated.clock().to_ns(phase[0].counted_ticks()), counts })
    }

    fn loop_spec(&self, session: &Session, calibrated: &Calibrated, timed: bool) -> LoopSpec {
        let loads = |ns: f64| (ns / calibrated.grind.ns_per_load).round() as u64;
        LoopSpec {
            clock: calibrated.clock(),
            nonhold_loads: loads(self.plan.nonhold_ns),
            hold_loads: loads(self.plan.hold_ns),
            share: self.plan.share,
            timed,
            seed: session.seed.wrapping_add(self.visits),
        }
    }

    fn add(&mut self, outcome: &Outcome, clock: Clock) {
        let rounds: u64 = outcome.children.iter().map(|child| child.rounds).sum();
        self.loops_counted += rounds;
        self.throughputs.push(rounds as f64 / outcome.counted_ns * 1e9);
        let loops: Vec<u64> = outcome.children.iter().map(|child| child.rounds).collect();
        self.unevenness.push(coefficient_of_variation(&loops));
        let totals = &mut self.totals;
        for child in outcome.children.iter() {
            totals.all_rounds += child.all_rounds;
            totals.reads += child.reads;
            totals.cpu_ns += child.cpu_ns as f64;
            totals.voluntary_switches += child.voluntary_switches;
            totals.involuntary_switches += child.involuntary_switches;
        }
        totals.wall_ns += clock.to_ns(outcome.children.iter().map(|child| child.wall_ticks).max().unwrap_or(0));
        totals.counts = match (totals.counts, outcome.counts) {
            (Some(sum), Some(more)) => Some(together(sum, more)),
            (None, more) => more,
            (sum, None) => sum,
        };
    }

    fn add_waits(&mut self, outcome: &Outcome) {
        for child in outcome.children.iter() {
            self.waits.merge(&child.waits.tally());
            self.holds.merge(&child.holds.tally());
            self.longest_wait_ticks = self.longest_wait_ticks.max(child.waits.longest());
            self.longest_streak = self.longest_streak.max(child.longest_streak);
        }
    }

    /// The row of the cell; `None` when no loop was counted.
    pub fn row(&self, plan: &Plan, calibrated: &Calibrated, ended_by: EndedBy) -> Option<Row> {
        if self.loops_counted == 0 {
            return None;
        }
        let throughput_per_s = median(&self.throughputs)?;
        let spins_first = self.plan.lock.ends_with("-spin");
        let patience_us = if spins_first { plan.patience.as_nanos() as f64 / 1e3 } else { 0.0 };
        let rounds = self.totals.all_rounds.max(1) as f64;
        let reads = self.totals.reads;
        let counts = self.totals.counts;
        let of = |part: u64, whole: f64| if whole > 0.0 { part as f64 / whole } else { 0.0 };
        let beside_clock =
            |ticks: u64| (calibrated.clock().to_ns(ticks) - calibrated.quality.stamp.mean_of_1000_ns).max(0.0);
        let hold_seen_ns = self.holds.quantile(0.5).map(beside_clock).filter(|_| self.plan.hold_ns > 0.0);
        // Work is a number of loads: when the CPU changes its speed, all of it does.
        let slowness = hold_seen_ns.map_or(1.0, |seen| seen / self.plan.hold_ns);
        let ideal_per_s = ideal_per_s(&self.plan, plan.cpus).map(|ideal| ideal / slowness);
        Some(Row {
            lock: self.plan.lock.clone(),
            children: self.plan.children,
            processes: plan.reach == Reach::Processes,
            locks: self.plan.locks,
            nonhold_us: self.plan.nonhold_ns / 1e3,
            hold_us: self.plan.hold_ns / 1e3,
            share: self.plan.share,
            patience_us,
            run_s: plan.run.as_secs_f64(),
            iterations: self.throughputs.len(),
            converged: ended_by == EndedBy::Converged,
            ended_by,
            write_contended_share: counts.map(|counts| of(counts.write_contended, rounds - reads as f64)),
            read_contended_share: counts.map(|counts| of(counts.read_contended, reads as f64)),
            retry: counts.map(|counts| retry(&self.plan.lock, &counts)),
            cov: median(&self.unevenness)?,
            throughput_per_s,
            throughput_ci: throughput_interval(&self.throughputs),
            hold_seen_us: hold_seen_ns.map(|ns| ns / 1e3),
            ideal_per_s,
            ideal_share: ideal_per_s.map(|ideal| throughput_per_s / ideal),
            waits_count: self.waits.count(),
            wait_p50_ns: self.waits.quantile(0.5).map(beside_clock),
            wait_p99_ns: self.waits.quantile(0.99).map(beside_clock),
            wait_max_ns: (!self.waits.is_empty()).then(|| beside_clock(self.longest_wait_ticks)),
            longest_streak: (self.longest_streak > 0).then_some(self.longest_streak),
            syscalls_per_op: syscalls_per_op(&self.plan.lock, counts.as_ref(), rounds),
            voluntary_switches_per_op: self.totals.voluntary_switches as f64 / rounds,
            involuntary_switches_per_op: self.totals.involuntary_switches as f64 / rounds,
            cpus_used: self.totals.cpu_ns / self.totals.wall_ns.max(1.0),
            then: then::figures(&self.plan, patience_us),
        })
    }
}

/// Of the median of the runs.
fn throughput_interval(throughputs: &[f64]) -> Option<Interval> {
    sample_quantile_interval(throughputs, 0.5, CONFIDENCE)
}

impl turns::Cell for Cell {
    fn title(&self) -> String {
        self.plan.to_string()
    }

    fn turns(&self) -> u64 {
        self.throughputs.len() as u64
    }

    fn figures(&self) -> Vec<Estimate> {
        let median = median(&self.throughputs);
        median.map(|value| Estimate::new(value, throughput_interval(&self.throughputs))).into_iter().collect()
    }

    fn has_result(&self) -> bool {
        self.loops_counted > 0
    }

    /// Gives the lock back; a thousand cells would hold a thousand semaphores.
    fn retire(&mut self) {
        self.lock = None;
    }
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

fn difference(after: Counts, before: Counts) -> Counts {
    Counts {
        write_contended: after.write_contended - before.write_contended,
        read_contended: after.read_contended - before.read_contended,
        spun: after.spun - before.spun,
        slept: after.slept - before.slept,
    }
}

/// One run of all children, with a conductor beside them.
fn perform(
    plan: &Plan,
    session: &Session,
    lock: &dyn DynLock,
    spec: &LoopSpec,
    phase: &RunPhase,
    counters: &mut [CachePadded<ChildCounters>],
) -> anyhow::Result<()> {
    let ramp_up = (plan.run / 10).max(Duration::from_millis(1));
    let children = counters.iter_mut().enumerate().map(|(child, counters)| Member {
        cpu: None,
        job: Box::new(move |gate: &StartGate| lock.work(child, spec, phase, counters, gate)),
    });
    let (clock, interruption) = (spec.clock, &session.interruption);
    let conductor = Member {
        cpu: None,
        job: Box::new(move |gate: &StartGate| phase.conduct(clock, ramp_up, plan.run, interruption, gate)),
    };
    let members = children.chain(std::iter::once(conductor)).collect();
    let length = ramp_up + plan.run;
    match plan.reach {
        Reach::Threads => work_together(clock, length, members)?,
        Reach::Processes => work_together_as_processes(clock, length, members, || interruption.is_requested())?,
    }
    Ok(())
}

struct MakeLocks {
    locks: usize,
}

impl Builder for MakeLocks {
    type Output = Box<dyn DynLock>;

    fn build<L: Lock>(self) -> io::Result<Self::Output> {
        Ok(Box::new(Dealt::new(settled::<L>(self.locks)?, Exclusive)))
    }
}

impl SharedBuilder for MakeLocks {
    type Output = Box<dyn DynLock>;

    fn build_shared<L: SharedLock>(self) -> io::Result<Self::Output> {
        Ok(Box::new(Dealt::new(settled::<L>(self.locks)?, WithReaders)))
    }
}

/// Locks in memory that forked children share.
fn settled<L: Lock>(locks: usize) -> io::Result<SharedArray<Guarded<L>>> {
    let mut array = SharedArray::from_fn(locks, |_| Guarded::<L>::new())?;
    array.iter_mut().try_for_each(Guarded::settle)?;
    Ok(array)
}

fn make_locks(plan: &CellPlan, reach: Reach) -> anyhow::Result<Box<dyn DynLock>> {
    let make = MakeLocks { locks: plan.locks };
    let made = if plan.share > 0 {
        locks::build_shared(&plan.lock, reach, make)
    } else {
        locks::build(&plan.lock, reach, make)
    };
    made.expect("the plan has only locks that fit")
        .with_context(|| format!("the lock `{}` could not be made", plan.lock))
}
