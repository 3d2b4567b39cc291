//! The measurement: a run that finds the cycles, then runs that try to reach them. It prints nothing.

use super::aim::{Aim, StepSites};
use super::schedule::holds;
use super::watch::{Deadlock, Watcher};
use crate::trace::flags::Level as Recorded;
use crate::trace::measure::cycles::{self, Group};
use crate::trace::measure::orders::{Cycles, Orders};
use crate::trace::plan::{Confirmation, Parameters};
use crate::trace::record::{CycleVerdict, Row, RowKind};
use crate::trace::warnings::{CyclesCut, NoLockCalls, unnamed_code};
use anyhow::Context;
use blame::names::Names;
use blame::places::process_at;
use blame::{Allowance, Exhausted, Lost};
use harness::{Interrupted, Progress, Session};
use instruments::clock::Calibration;
use instruments::warning::Warning;
use interpose::{Level, Memory, PLACE, Region};
use launch::{FinishedRun, Plan, Variables, preload};
use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// The result of the measurement.
pub struct Measured {
    pub parameters: Parameters,
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
}

/// A cycle that is possible, and the call sites of its steps.
struct Suspect {
    row: Row,
    steps: Vec<Vec<StepSites>>,
}

/// A run may take as many times as long as the first one, and this much longer.
const LONGER: u32 = 3;
const MORE: Duration = Duration::from_secs(12);
/// Cycles that are tried.
const MOST_TRIED: usize = 50;

/// Finds the cycles, and tries to reach those that are possible.
pub fn run_plan(
    plan: &Plan,
    runs: u32,
    all: bool,
    session: &Session,
    calibration: &Calibration,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    let began = Instant::now();
    let (_library, path) = Memory::library().context("cannot copy the library into memory")?;
    let allowance = Allowance::of_run(session.interruption.shared_flag());
    let mut context = Runs { plan, session, calibration, path: &path, names: Names::within(&allowance) };
    progress.note("running the program to find its lock orders");
    let program_sha256 = instruments::sha256::of_file(&plan.program.path).ok();
    // The other half of the time is for the runs that try to reach a cycle.
    let first = context.run(Level::Sampled, session.seconds.map(|seconds| seconds / 2), None)?;
    let region = first.memory.region();
    anyhow::ensure!(
        region.processes().count() > 0,
        "{}: did not load contend's library, so its locks are not seen",
        plan.program.path.display()
    );
    let mut warnings: Vec<Warning> = (region.pairs().count() == 0)
        .then(|| NoLockCalls { is_loaded: true, has_futex_calls: false }.into())
        .into_iter()
        .collect();
    let (mut suspects, excluded, cut) = context.suspects(region);
    warnings.extend(cut.map(|reason| CyclesCut { reason: reason.to_string() }.into()));
    let lost = Lost::of(region);
    warnings.extend(lost.warning());
    let longest = first.took * LONGER + MORE;
    first.deadlock.iter().for_each(|deadlock| note_reached(&mut suspects, deadlock, 1, &[]));
    'cycles: for place in 0..suspects.len().min(MOST_TRIED) {
        let mut seeds = Vec::new();
        for run in 0..runs {
            if suspects[place].row.verdict == Some(CycleVerdict::Reached) {
                break;
            }
            let limit = session.seconds.map_or(longest, |seconds| seconds.saturating_sub(began.elapsed()).min(longest));
            if limit.is_zero() {
                break 'cycles;
            }
            progress.note(&format!("cycle {} of {}, run {} of {runs}", place + 1, suspects.len(), run + 1));
            let seed = session.seed.wrapping_add(u64::from(run)).wrapping_add(place as u64 * u64::from(runs));
            seeds.push(seed);
            let steps = suspects[place].steps.clone();
            let holds = holds(steps.len(), run, seed);
            let aim = Aim { steps: steps.into_iter().zip(holds).collect() };
            let ran = match context.run(Level::Confirm, Some(limit), Some(&aim)) {
                Ok(ran) => ran,
                Err(error) if error.is::<Interrupted>() => break 'cycles,
                Err(error) => return Err(error),
            };
            let row = &mut suspects[place].row;
            (row.verdict, row.runs, row.seeds) = (Some(CycleVerdict::NotReached), Some(run + 1), seeds.clone());
            if let Some(deadlock) = &ran.deadlock {
                note_reached(&mut suspects, deadlock, run + 1, &seeds);
            }
        }
    }
    warnings.extend(unnamed_code(&context.names));
    let reached = suspects.iter().filter(|suspect| suspect.row.verdict == Some(CycleVerdict::Reached)).count();
    let confirmation = Confirmation {
        runs_most: runs,
        possible: suspects.len() as u32,
        reached: reached as u32,
        excluded: excluded.len() as u32,
        prepare: plan.prepare.clone(),
        cleanup: plan.cleanup.clone(),
    };
    let parameters = Parameters {
        program: plan.words(),
        program_sha256,
        level: Recorded::Sampled,
        attached_pid: None,
        attached_pids: Vec::new(),
        part: None,
        exit_status: None,
        exit_signal: None,
        elapsed_s: began.elapsed().as_secs_f64(),
        deadline_s: 0.0,
        processes: region.processes().count() as u32,
        threads: region.header.comers.load(Relaxed),
        thread_time_s: 0.0,
        switches: None,
        switches_share: None,
        switches_left_out: 0,
        lost,
        locks_left_out: 0,
        sites_left_out: 0,
        verdict: None,
        verdict_reason: None,
        hang: None,
        samples: 0,
        lowered: Vec::new(),
        all,
        confirmation: Some(confirmation),
    };
    let mut rows: Vec<Row> = suspects.into_iter().map(|suspect| suspect.row).chain(excluded).collect();
    if rows.is_empty() {
        rows.push(no_cycle());
    }
    Ok(Measured { parameters, rows, warnings })
}

/// Returns the row of a program without a cycle: a record without a row would say that nothing was measured.
fn no_cycle() -> Row {
    let reason = Some("no two locks were acquired in contradictory orders".to_owned());
    Row { verdict: Some(CycleVerdict::Excluded), reason, ..Row::new(RowKind::Order, 0, String::new()) }
}

/// Gives the cycle of a deadlock its verdict; a deadlock of none of them becomes another cycle.
fn note_reached(suspects: &mut Vec<Suspect>, deadlock: &Deadlock, run: u32, seeds: &[u64]) {
    let is_it = |suspect: &Suspect| {
        let is_step = |step: &StepSites| suspect.steps.iter().any(|sites| sites.contains(step));
        let is_covered = |sites: &Vec<StepSites>| sites.iter().any(|site| deadlock.sites.contains(site));
        deadlock.sites.len() == suspect.steps.len()
            && deadlock.sites.iter().all(is_step)
            && suspect.steps.iter().all(is_covered)
    };
    let place = suspects.iter().position(is_it).unwrap_or_else(|| {
        let first = deadlock.steps.first().map(|step| step.holds.clone()).unwrap_or_default();
        let row = Row::new(RowKind::Order, 0, first);
        suspects.push(Suspect { row, steps: deadlock.sites.iter().map(|site| vec![site.clone()]).collect() });
        suspects.len() - 1
    });
    let row = &mut suspects[place].row;
    if row.verdict == Some(CycleVerdict::Reached) {
        return;
    }
    *row = Row {
        verdict: Some(CycleVerdict::Reached),
        runs: Some(run),
        seeds: seeds.to_vec(),
        locks: deadlock.steps.iter().map(|step| step.holds.clone()).collect(),
        steps: deadlock.steps.clone(),
        stacks: deadlock.stacks.clone(),
        ..row.clone()
    };
}

/// A run that is over.
struct Ran {
    memory: Memory,
    took: Duration,
    deadlock: Option<Deadlock>,
}

/// The data that all runs have in common.
struct Runs<'a> {
    plan: &'a Plan,
    session: &'a Session,
    calibration: &'a Calibration,
    path: &'a str,
    names: Names,
}

impl Runs<'_> {
    /// Runs the program, and watches it.
    fn run(&mut self, level: Level, at_most: Option<Duration>, aim: Option<&Aim>) -> anyhow::Result<Ran> {
        let memory = Memory::new(level, self.calibration.fallback.as_deref())?;
        let variables: Variables = vec![("LD_PRELOAD", preload(self.path)), (PLACE, memory.path().into())];
        let (plan, session, is_over, began) = (self.plan, self.session, AtomicBool::new(false), Instant::now());
        let mut watcher = Watcher::begin(&memory, &mut self.names, self.calibration.clock, aim);
        let (took, deadlock) = std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                let took = plan.run(&variables, at_most, &session.interruption);
                is_over.store(true, Release);
                took
            });
            let deadlock = watcher.watch(|| is_over.load(Acquire));
            (running.join().expect("a run does not panic"), deadlock)
        });
        // A run that is killed for its deadlock, or ended by its time, is as good as another.
        let took = match took? {
            Ok(FinishedRun { wall_s, .. }) => Duration::from_secs_f64(wall_s),
            Err(_) => began.elapsed(),
        };
        Ok(Ran { memory, took, deadlock })
    }

    /// Returns the cycles of the run that just ended: those that are possible, and the rows of those that are excluded.
    fn suspects(&mut self, region: &Region) -> (Vec<Suspect>, Vec<Row>, Option<Exhausted>) {
        let orders = Orders::of(region);
        let Cycles { found, cut } = orders.cycles(self.names.allowance());
        let groups = cycles::grouped(region, &mut self.names, found);
        let (mut suspects, mut excluded) = (Vec::new(), Vec::new());
        for group in &groups {
            let row = cycles::row(region, &mut self.names, group);
            if group.cycle.is_possible() {
                let steps = self.steps(region, &orders, group);
                suspects.push(Suspect { row, steps });
            } else {
                excluded.push(row);
            }
        }
        (suspects, excluded, cut)
    }

    /// Returns the call sites of each step of a cycle, as files have them.
    fn steps(&mut self, region: &Region, orders: &Orders, group: &Group) -> Vec<Vec<StepSites>> {
        let mut of_step = |held: u32, taken: u32| {
            let mut known = HashSet::new();
            let sites = orders.sites((held, taken)).into_iter().filter_map(|(held_site, taken_site)| {
                let mut site = |lock, site| self.names.in_file(process_at(region, lock, site), site);
                Some((site(held, held_site)?, site(taken, taken_site)?))
            });
            sites.filter(|sites| known.insert(sites.clone())).collect()
        };
        group.cycle.orders.iter().map(|order| of_step(order.held, order.taken)).collect()
    }
}
