//! The measurement: runs of all sides in random order. It prints nothing.

use super::choose::Chooser;
use super::corner::Corner;
use super::correct::{Around, Figure, Ran};
use super::fixed_time;
use super::gains;
use super::locks::{self, Found};
use super::record::{ChosenLock, WhatIfParameters, WhatIfRow};
use super::sides::{Figures, NOTHING_SHORTER, PLAIN, Side};
use super::warnings;
use anyhow::Context;
use harness::turns::take_turns;
use harness::{Interrupted, Progress, Session};
use instruments::clock::Calibration;
use instruments::cpus::CpuSet;
use instruments::environment::Activity;
use instruments::statistics::order;
use instruments::warning::Warning;
use interpose::{Level, Memory, PLACE, SHARE_ONE};
use launch::{Failed, Metric, Plan, Took, Variables, preload};
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// A run with delays may take this many times as long as the longest plain run, and this much longer.
const LONGER: f64 = 20.0;
const MORE_S: f64 = 10.0;
/// A machine on which others have more of the CPUs is not quiet.
const OTHERS: f64 = 0.1;

/// The result of the measurement.
pub struct Measured {
    pub parameters: WhatIfParameters,
    pub rows: Vec<WhatIfRow>,
    pub warnings: Vec<Warning>,
    pub failures: Vec<String>,
}

/// Runs the program plainly, with the library, and with each share, in random order.
///
/// # Errors
/// The program cannot be started, or does not end well as it is; it has no such lock, or a metric is not found.
pub fn run_plan(
    plan: &Plan,
    wanted: Option<&str>,
    session: &Session,
    calibration: &Calibration,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    let began = Instant::now();
    progress.note("tracing the program to find its locks");
    let found = locks::find(wanted, plan, &session.interruption)?;
    let (_library, path) = Memory::library().context("cannot copy the library into memory")?;
    let (mut sides, all) = Side::all(found.tried.len(), plan.metrics.len(), session.seed);
    let allowed = &instruments::cpus::allowed()?;
    let chooser = RefCell::new(Chooser::default());
    let longest_plain_s = Cell::new(0.0);
    let turn = Turn { plan, session, found: &found, path: &path, calibration, allowed, chooser, longest_plain_s };
    // Whether it ends well, has the metrics, and uses the lock; and what its files say is then known.
    turn.warm_up(&mut sides[PLAIN], progress)?;
    let plain_s = turn.longest_plain_s.get();
    progress.note("stopping the program to test whether its clock sets its run time");
    let is_time_fixed = fixed_time::is_fixed(plan, plain_s, &session.interruption)?;
    if let Some(refused) = fixed_time::refused(plan, plain_s).filter(|_| is_time_fixed) {
        return Err(refused.into());
    }
    for _ in 0..plan.warmup {
        sides[..=NOTHING_SHORTER].iter_mut().try_for_each(|side| turn.warm_up(side, progress))?;
    }
    let rules = plan.rules(began);
    let turns = take_turns(&mut sides, &rules, session, progress, |side: &mut Side| turn.take(side, progress))?;
    if let Some(how) = &sides[NOTHING_SHORTER].failed {
        anyhow::bail!("with the library and unchanged critical sections, the program {how}");
    }
    if all.borrow()[NOTHING_SHORTER][0].values.is_empty() {
        return Err(Interrupted.into());
    }
    let base = &sides[NOTHING_SHORTER].ran;
    let is_disturbed = is_disturbed(base);
    let corners: Vec<(Figure, Corner)> =
        figures(plan).into_iter().map(|figure| (figure, corner(base, figure, is_disturbed))).collect();
    sides[NOTHING_SHORTER..].iter().for_each(|side| side.correct(&corners, is_disturbed));
    let mut measured = measured(plan, &found, &sides, &all.borrow(), is_time_fixed, session.seed);
    let explained = corners.iter().filter_map(|(_, corner)| corner.explained());
    measured.warnings.extend(warnings::limited_elsewhere(explained));
    measured.parameters.order = turns.order.clone();
    measured.warnings.extend(rules.not_converged(&sides, &turns, "the ratio with "));
    Ok(measured)
}

/// Whether other programs took the CPUs.
fn is_disturbed(nothing_shorter: &[Ran]) -> bool {
    let others: Vec<f64> = nothing_shorter.iter().map(|ran| ran.others_share).collect();
    order::median(&others).is_some_and(|share| share > OTHERS)
}

/// The program's corner: if other programs took the CPUs, its waits for them do not count.
fn corner(nothing_shorter: &[Ran], figure: Figure, is_disturbed: bool) -> Corner {
    let limits: Vec<_> = nothing_shorter.iter().map(|ran| ran.limits(figure)).collect();
    let is_crowded = nothing_shorter.iter().any(|ran| ran.threads as f64 > ran.cpus);
    Corner::of(&limits, is_crowded, is_disturbed)
}

/// The results of all runs together.
fn measured(
    plan: &Plan,
    found: &Found,
    sides: &[Side],
    all: &[Vec<Figures>],
    is_time_fixed: bool,
    seed: u64,
) -> Measured {
    let nothing_shorter = &sides[NOTHING_SHORTER].ran;
    let mut parameters = parameters(plan, found, sides);
    parameters.library_ratio = gains::library_ratio(all);
    parameters.is_time_fixed = is_time_fixed;
    parameters.waits_for_cpus_share = gains::waits_for_cpus_share(nothing_shorter);
    parameters.handoffs_share = gains::handoffs_share(nothing_shorter);
    let mut warnings = warnings::of(found, &parameters, &all[PLAIN][0].values);
    let lost = sides.iter().flat_map(|side| &side.ran).fold(found.lost, |most, ran| most.or(ran.lost));
    warnings.extend(lost.warning());
    let mut rows = gains::rows(plan, found, sides, all, seed);
    if is_time_fixed {
        rows.retain(|row| row.what_if.is_none() || row.metric != gains::WALL_TIME);
    }
    parameters.slopes = gains::slopes(found, &rows);
    Measured { failures: failures(sides, &parameters), parameters, rows, warnings }
}

fn failures(sides: &[Side], parameters: &WhatIfParameters) -> Vec<String> {
    let failed = |side: &Side| side.failure(parameters.locks[side.lock].sections > 0);
    let unused = parameters.locks.iter().filter(|lock| lock.sections == 0);
    let unused = unused.map(|lock| {
        format!(
            "{}: no critical section in any run: its releasing threads had not acquired it, or it was not used again",
            lock.lock
        )
    });
    sides.iter().filter_map(failed).chain(unused).collect()
}

fn parameters(plan: &Plan, found: &Found, sides: &[Side]) -> WhatIfParameters {
    let chosen = |(place, lock): (usize, &locks::Candidate)| {
        let ran = || sides.iter().filter(move |side| side.lock == place).flat_map(|side| &side.ran);
        let sections: u64 = ran().map(|ran| ran.sections).sum();
        let section_s: f64 = ran().map(|ran| ran.section_s).sum();
        let section_mean_ns = (sections > 0).then(|| section_s * 1e9 / sections as f64);
        ChosenLock { lock: lock.name.clone(), wait_total_s: lock.wait_total_s, sections, section_mean_ns }
    };
    WhatIfParameters {
        what_if_program: plan.words(),
        locks: found.tried.iter().enumerate().map(chosen).collect(),
        locks_left: found.left.clone(),
        slopes: Vec::new(),
        library_ratio: None,
        waits_for_cpus_share: None,
        handoffs_share: None,
        is_time_fixed: false,
        prepare: plan.prepare.clone(),
        cleanup: plan.cleanup.clone(),
        warmup: plan.warmup,
        order: Vec::new(),
    }
}

/// The program's time, then what it says.
fn figures(plan: &Plan) -> Vec<Figure> {
    let own = |metric: &Metric| if metric.higher_is_better { Figure::Rate } else { Figure::Time };
    std::iter::once(Figure::Wall).chain(plan.metrics.iter().map(own)).collect()
}

/// A run that ended well: what it took, what the library noted of it, and its metrics.
struct Brought {
    took: Took,
    ran: Option<Ran>,
    metrics: Vec<f64>,
}

/// The context of a run.
struct Turn<'a> {
    plan: &'a Plan,
    session: &'a Session,
    found: &'a Found,
    path: &'a str,
    calibration: &'a Calibration,
    allowed: &'a CpuSet,
    chooser: RefCell<Chooser>,
    longest_plain_s: Cell<f64>,
}

impl Turn<'_> {
    fn warm_up(&self, side: &mut Side, progress: &Progress) -> anyhow::Result<()> {
        progress.note(&format!("warm-up run: {}", side.words()));
        if side.failed.is_none() {
            self.run(side)?;
        }
        Ok(())
    }

    fn take(&self, side: &mut Side, progress: &Progress) -> anyhow::Result<ControlFlow<()>> {
        progress.note(&side.words());
        match self.run(side) {
            Err(error) if error.is::<Interrupted>() => return Ok(ControlFlow::Break(())),
            Err(error) => return Err(error),
            Ok(None) => {}
            Ok(Some(Brought { ran: Some(ran), .. })) if ran.sections == 0 && self.counts_sections(side) => {
                side.leave_out();
            }
            Ok(Some(Brought { took, ran, metrics })) => {
                let values = std::iter::once(took.wall_s * 1e9).chain(metrics);
                side.add(ran, figures(self.plan).into_iter().zip(values));
            }
        }
        Ok(self.session.interruption.flow())
    }

    /// Whether only runs count in which the lock had a section. With nothing shorter one lock is watched: where there
    /// are several, runs without that one are runs of the others.
    fn counts_sections(&self, side: &Side) -> bool {
        side.place > NOTHING_SHORTER || side.place == NOTHING_SHORTER && self.found.tried.len() == 1
    }

    /// A run; `None` if it did not end well, which is noted. As it is, the program has to.
    fn run(&self, side: &mut Side) -> anyhow::Result<Option<Brought>> {
        let (took, ran) = match side.is_plain() {
            true => (self.plan.run(&Variables::new(), None, &self.session.interruption)?, None),
            false => self.with_library(side)?,
        };
        let failed = match took {
            Ok(took) => match self.plan.metrics_in(&took.output) {
                Ok(metrics) => {
                    if side.is_plain() {
                        self.longest_plain_s.set(self.longest_plain_s.get().max(took.wall_s));
                    }
                    return Ok(Some(Brought { took, ran, metrics }));
                }
                Err(why) => format!("printed no usable number: {why}"),
            },
            Err(failed) => format!("{}; last line of its output: {}", failed.how, failed.last_line()),
        };
        anyhow::ensure!(!side.is_plain(), "the unmodified program {failed}");
        side.failed = Some(failed);
        Ok(None)
    }

    /// While the program runs, its locks are looked at.
    fn with_library(&self, side: &Side) -> anyhow::Result<(Result<Took, Failed>, Option<Ran>)> {
        let memory = Memory::new(Level::WhatIf, self.calibration.fallback.as_deref())?;
        let ns_per_tick = self.calibration.clock.ns_per_tick();
        let what_if = &memory.region().what_if;
        what_if.share.store((side.share * SHARE_ONE as f64) as u32, Relaxed);
        what_if.ns_per_tick.store((ns_per_tick * (1_u64 << 32) as f64) as u64, Relaxed);
        let variables = vec![("LD_PRELOAD", preload(self.path)), (PLACE, memory.path().into())];
        let longest = self.longest_plain_s.get();
        let at_most = (longest > 0.0).then(|| Duration::from_secs_f64(longest * LONGER + MORE_S));
        let (is_over, before) = (AtomicBool::new(false), Activity::now());
        let took = std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                let took = self.plan.run(&variables, at_most, &self.session.interruption);
                is_over.store(true, Release);
                took
            });
            let wanted = &self.found.tried[side.lock].name;
            self.chooser.borrow_mut().watch(memory.region(), wanted, || is_over.load(Acquire));
            running.join().expect("a run does not panic")
        })?;
        anyhow::ensure!(
            memory.region().processes().count() > 0,
            "{}: did not load contend's library, so nothing can be predicted",
            self.plan.program.path.display()
        );
        let others = before.and_then(|before| Ok(Activity::now()?.since(&before, self.allowed)));
        let others = others.ok().flatten().map_or(0.0, |share| share.other_share + share.steal_share);
        let (cpus, slept_share) = (self.allowed.len() as f64, self.found.tried[side.lock].holder_slept);
        let around = Around { cpus, slept_share, others_share: others, ns_per_tick };
        let ran = took.as_ref().ok().map(|took| Ran::of(memory.region(), took, around));
        Ok((took, ran))
    }
}
