//! The measurement: runs of all variants in random order. It prints nothing.
//!
//! The variants are the plain program, the library with unchanged sections, and each share of each lock.
//!
//! Some programs have a run time that their own clock fixes: a server that ends after a second, a benchmark with
//! `--seconds 10`. Their wall time cannot become shorter, but the lags of their threads look as if it did. So the plain
//! program runs twice, and is stopped for a part of that time. The time of a program that has work to do, or sleeps
//! again and again, is longer by the stop; the time of one that waits until its clock says so is the same.

use super::correction::{Around, Figure, Ran, TwoLimits};
use super::locks::{self, Chooser, Found};
use super::record::{ChosenLock, Verdict, WhatIfParameters, WhatIfRow};
use super::variants::{Figures, NOTHING_SHORTER, PLAIN, Variant};
use super::{gains, warnings};
use anyhow::Context;
use harness::turns::take_turns;
use harness::{Interrupted, Interruption, Progress, Session};
use instruments::clock::Calibration;
use instruments::cpus::CpuSet;
use instruments::environment::Activity;
use instruments::statistics::order;
use instruments::warning::Warning;
use interpose::{Level, Memory, PLACE, SHARE_ONE};
use launch::{Failed, FinishedRun, Metric, Pause, Plan, Proposal, RateNotCompared, Variables, preload};
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
pub fn run_plan(
    plan: &Plan,
    wanted: Option<&str>,
    session: &Session,
    calibration: &Calibration,
    progress: &Progress,
) -> anyhow::Result<Measured> {
    let began = Instant::now();
    progress.note("tracing the program to find its locks");
    let found = &locks::find(wanted, plan, &session.interruption)?;
    let (_library, path) = Memory::library().context("cannot copy the library into memory")?;
    let (mut variants, all) = Variant::all(found.tried.len(), plan.metrics.len(), session.seed);
    let allowed = &instruments::cpus::allowed()?;
    let chooser = RefCell::new(Chooser::default());
    let (longest_plain_s, plain_output) = (Cell::new(0.0), RefCell::default());
    let turn = Turn { plan, session, found, path: &path, calibration, allowed, chooser, longest_plain_s, plain_output };
    // Whether it ends well, has the metrics, and uses the lock; and what its files say is then known.
    turn.warm_up(&mut variants[PLAIN], progress)?;
    let plain_s = turn.longest_plain_s.get();
    progress.note("stopping the program to test whether its clock sets its run time");
    let fixed = fixed(plan, plain_s, &session.interruption)?;
    let is_time_fixed = fixed.is_some();
    if let Some(refused) = fixed.and_then(|outputs| refused(plan, plain_s, &outputs)) {
        anyhow::bail!(refused);
    }
    for _ in 0..plan.warmup {
        variants[..=NOTHING_SHORTER].iter_mut().try_for_each(|variant| turn.warm_up(variant, progress))?;
    }
    let rules = plan.rules(began);
    let turns =
        take_turns(&mut variants, &rules, session, progress, |variant: &mut Variant| turn.take(variant, progress))?;
    if let Some(how) = &variants[NOTHING_SHORTER].failed {
        anyhow::bail!("with the library and unchanged critical sections, the program {how}");
    }
    if all.borrow()[NOTHING_SHORTER][0].values.is_empty() {
        return Err(Interrupted.into());
    }
    let base = &variants[NOTHING_SHORTER].ran;
    let is_disturbed = is_disturbed(base);
    let limits_of_figures: Vec<(Figure, TwoLimits)> =
        figures(plan).into_iter().map(|figure| (figure, two_limits(base, figure, is_disturbed))).collect();
    variants[NOTHING_SHORTER..].iter().for_each(|variant| variant.correct(&limits_of_figures, is_disturbed));
    let mut measured = measured(plan, found, &variants, &all.borrow(), is_time_fixed, session.seed);
    measured.warnings.extend(rate_not_compared(plan, &measured.rows, &turn.plain_output.borrow()));
    let explained = limits_of_figures.iter().filter_map(|(_, two_limits)| two_limits.explained());
    measured.warnings.extend(warnings::limited_elsewhere(explained));
    measured.parameters.order = turns.order.clone();
    measured.warnings.extend(rules.not_converged(&variants, &turns, "the ratio with "));
    Ok(measured)
}

/// Returns the rate in the output of a program without a metric, if its wall time shows no gain. Stops do not reveal all
/// fixed run times: the next of several rounds, or a clock that counts naps, is delayed by a stop.
fn rate_not_compared(plan: &Plan, rows: &[WhatIfRow], output: &str) -> Option<Warning> {
    let is_shown = rows.iter().any(|row| matches!(row.verdict, Verdict::Gain | Verdict::Loss));
    let is_meant = plan.metrics.is_empty() && !is_shown;
    is_meant.then(|| RateNotCompared::of(&[output])).flatten().map(Warning::from)
}

/// Returns whether other programs took the CPUs.
fn is_disturbed(nothing_shorter: &[Ran]) -> bool {
    let others: Vec<f64> = nothing_shorter.iter().map(|ran| ran.others_share).collect();
    order::median(&others).is_some_and(|share| share > OTHERS)
}

/// Returns the program's place between its limits: if other programs took the CPUs, its waits for them do not count.
fn two_limits(nothing_shorter: &[Ran], figure: Figure, is_disturbed: bool) -> TwoLimits {
    let limits: Vec<_> = nothing_shorter.iter().map(|ran| ran.limits(figure)).collect();
    let is_crowded = nothing_shorter.iter().any(|ran| ran.threads as f64 > ran.cpus);
    TwoLimits::of(&limits, is_crowded, is_disturbed)
}

/// Returns the results of all runs together.
fn measured(
    plan: &Plan,
    found: &Found,
    variants: &[Variant],
    all: &[Vec<Figures>],
    is_time_fixed: bool,
    seed: u64,
) -> Measured {
    let mut parameters = parameters(plan, found, variants, all, is_time_fixed);
    let mut warnings = warnings::of(found, &parameters, &all[PLAIN][0].values);
    let lost = variants.iter().flat_map(|variant| &variant.ran).fold(found.lost, |most, ran| most.or(ran.lost));
    warnings.extend(lost.warning());
    let mut rows = gains::rows(plan, found, variants, all, seed);
    if is_time_fixed {
        rows.retain(|row| row.what_if.is_none() || row.metric != gains::WALL_TIME);
    }
    parameters.slopes = gains::slopes(found, &rows);
    Measured { failures: failures(variants, &parameters), parameters, rows, warnings }
}

fn failures(variants: &[Variant], parameters: &WhatIfParameters) -> Vec<String> {
    let failed = |variant: &Variant| variant.failure(parameters.locks[variant.lock].sections > 0);
    let unused = parameters.locks.iter().filter(|lock| lock.sections == 0);
    let unused = unused.map(|lock| {
        format!(
            "{}: no critical section in any run: its releasing threads had not acquired it, or it was not used again",
            lock.lock
        )
    });
    variants.iter().filter_map(failed).chain(unused).collect()
}

fn parameters(
    plan: &Plan,
    found: &Found,
    variants: &[Variant],
    all: &[Vec<Figures>],
    is_time_fixed: bool,
) -> WhatIfParameters {
    let nothing_shorter = &variants[NOTHING_SHORTER].ran;
    let chosen = |(place, lock): (usize, &locks::Candidate)| {
        let ran = || variants.iter().filter(move |variant| variant.lock == place).flat_map(|variant| &variant.ran);
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
        library_ratio: gains::library_ratio(all),
        waits_for_cpus_share: gains::waits_for_cpus_share(nothing_shorter),
        handoffs_share: gains::handoffs_share(nothing_shorter),
        is_time_fixed,
        prepare: plan.prepare.clone(),
        cleanup: plan.cleanup.clone(),
        warmup: plan.warmup,
        order: Vec::new(),
    }
}

/// Returns the program's time, then the metrics that it prints.
fn figures(plan: &Plan) -> Vec<Figure> {
    let own = |metric: &Metric| if metric.higher_is_better { Figure::Rate } else { Figure::Time };
    std::iter::once(Figure::Wall).chain(plan.metrics.iter().map(own)).collect()
}

/// A run that ended well: its time, the library's notes on it, and its metrics.
struct RunResult {
    took: FinishedRun,
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
    /// The output of the last run of the unmodified program.
    plain_output: RefCell<String>,
}

impl Turn<'_> {
    fn warm_up(&self, variant: &mut Variant, progress: &Progress) -> anyhow::Result<()> {
        progress.note(&format!("warm-up run: {}", variant.words()));
        if variant.failed.is_none() {
            self.run(variant)?;
        }
        Ok(())
    }

    fn take(&self, variant: &mut Variant, progress: &Progress) -> anyhow::Result<ControlFlow<()>> {
        progress.note(&variant.words());
        match self.run(variant) {
            Err(error) if error.is::<Interrupted>() => return Ok(ControlFlow::Break(())),
            Err(error) => return Err(error),
            Ok(None) => {}
            Ok(Some(RunResult { ran: Some(ran), .. })) if ran.sections == 0 && self.counts_sections(variant) => {
                variant.leave_out();
            }
            Ok(Some(RunResult { took, ran, metrics })) => {
                let values = std::iter::once(took.wall_s * 1e9).chain(metrics);
                variant.add(ran, figures(self.plan).into_iter().zip(values));
            }
        }
        Ok(self.session.interruption.flow())
    }

    /// Returns whether only runs count in which the lock had a section. With nothing shorter one lock is watched: where
    /// there are several, runs without that one are runs of the others.
    fn counts_sections(&self, variant: &Variant) -> bool {
        variant.place > NOTHING_SHORTER || variant.place == NOTHING_SHORTER && self.found.tried.len() == 1
    }

    /// Returns a run; `None` if it did not end well, which is noted. As it is, the program has to.
    fn run(&self, variant: &mut Variant) -> anyhow::Result<Option<RunResult>> {
        let (took, ran) = match variant.is_plain() {
            true => (self.plan.run(&Variables::new(), self.at_most(), &self.session.interruption)?, None),
            false => self.with_library(variant)?,
        };
        let failed = match took {
            Ok(took) => match self.plan.metrics_in(&took.output) {
                Ok(metrics) => {
                    if variant.is_plain() {
                        self.longest_plain_s.set(self.longest_plain_s.get().max(took.wall_s));
                        self.plain_output.replace(took.output.clone());
                    }
                    return Ok(Some(RunResult { took, ran, metrics }));
                }
                Err(why) => format!("printed no usable number: {why}"),
            },
            Err(failed) => format!("{}; last line of its output: {}", failed.how, failed.last_line()),
        };
        anyhow::ensure!(!variant.is_plain(), "the unmodified program {failed}");
        variant.failed = Some(failed);
        Ok(None)
    }

    /// Returns the time limit of a run.
    fn at_most(&self) -> Option<Duration> {
        match self.longest_plain_s.get() {
            longest if longest > 0.0 => Some(Duration::from_secs_f64(longest * LONGER + MORE_S)),
            _ => self.plan.longest_first(),
        }
    }

    /// Runs the program with the library, and looks at its locks while it runs.
    fn with_library(&self, variant: &Variant) -> anyhow::Result<(Result<FinishedRun, Failed>, Option<Ran>)> {
        let memory = Memory::new(Level::WhatIf, self.calibration.fallback.as_deref())?;
        let ns_per_tick = self.calibration.clock.ns_per_tick();
        let what_if = &memory.region().what_if;
        what_if.share.store((variant.share * SHARE_ONE as f64) as u32, Relaxed);
        what_if.ns_per_tick.store((ns_per_tick * (1_u64 << 32) as f64) as u64, Relaxed);
        let variables = vec![("LD_PRELOAD", preload(self.path)), (PLACE, memory.path().into())];
        let at_most = self.at_most();
        let (is_over, before) = (AtomicBool::new(false), Activity::now());
        let took = std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                let took = self.plan.run(&variables, at_most, &self.session.interruption);
                is_over.store(true, Release);
                took
            });
            let wanted = &self.found.tried[variant.lock].name;
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
        let (cpus, slept_share) = (self.allowed.len() as f64, self.found.tried[variant.lock].holder_slept);
        let around = Around { cpus, slept_share, others_share: others, ns_per_tick };
        let ran = took.as_ref().ok().map(|took| Ran::of(memory.region(), took, around));
        Ok((took, ran))
    }
}

/// Times at which the program is stopped, and for how long, as parts of its time: two times, since its time may differ
/// by chance. Both are late, since a short run has a longer part before its clock starts.
const STOPS: [(f64, f64); 2] = [(0.4, 0.5), (0.5, 0.4)];
/// The part of the time by which that of a stopped run may be longer, or shorter: a quarter of the shorter stop.
const SAME: f64 = 0.1;

/// Returns the outputs of the stopped runs if the program takes as long though it is stopped; `None` where a run does not
/// end well. The run without a stop is repeated, since the first one may have been slow by chance.
fn fixed(plan: &Plan, plain_s: f64, interruption: &Interruption) -> anyhow::Result<Option<Vec<String>>> {
    let mut outputs = Vec::new();
    for (after, length) in STOPS {
        let pause = Pause {
            after: Duration::from_secs_f64(after * plain_s),
            length: Duration::from_secs_f64(length * plain_s),
        };
        match plan.run_stopped(pause, interruption)? {
            Ok(FinishedRun { wall_s, output, .. }) if is_as_long(plain_s, wall_s) => outputs.push(output),
            Ok(FinishedRun { .. }) | Err(Failed { .. }) => return Ok(None),
        }
    }
    let again = plan.run(&Variables::new(), None, interruption)?;
    Ok(again.is_ok_and(|again| is_as_long(plain_s, again.wall_s)).then_some(outputs))
}

fn is_as_long(plain_s: f64, wall_s: f64) -> bool {
    (wall_s - plain_s).abs() < SAME * plain_s
}

/// Returns the error if nothing can be predicted for such a program: only a rate can, not its wall time or times within
/// it. The outputs are of its stopped runs.
fn refused(plan: &Plan, plain_s: f64, outputs: &[String]) -> Option<String> {
    let plain = terminal::nanoseconds(plain_s * 1e9);
    let why = format!("the run time is fixed: the program takes {plain} even if it is stopped for half of that time");
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let rate = match Proposal::of(&outputs) {
        Some(Proposal { metric, found }) => {
            let name = metric.split('=').next().unwrap_or_default();
            format!("give --metric '{metric}' --higher-is-better={name}, which finds {:?} in its output", found.trim())
        }
        None => {
            "give --metric 'NAME=REGEX' --higher-is-better=NAME for a rate in its output, or a fixed amount of work"
                .into()
        }
    };
    if plan.metrics.is_empty() {
        return Some(format!("--what-if: {why}, so shorter critical sections cannot change it; {rate}"));
    }
    let time = plan.metrics.iter().find(|metric| !metric.higher_is_better)?;
    let name = &time.pattern.name;
    Some(format!("--metric {name}: {why}, so a time within it cannot be predicted; {rate}"))
}

#[cfg(test)]
mod tests {
    use super::super::variants::MANY;
    use super::*;

    #[test]
    fn crash_after_a_run_without_a_section_is_reported() {
        let (mut variants, _) = Variant::all(1, 0, 1);
        let crashed = &mut variants[NOTHING_SHORTER + 1];
        crashed.leave_out();
        assert_eq!(crashed.failure(false), None);
        crashed.failed = Some("was killed by signal 11".into());
        assert_eq!(
            crashed.failure(false).as_deref(),
            Some("with sections 25.0 % shorter, the program was killed by signal 11")
        );
        let left_out = &mut variants[NOTHING_SHORTER + 2];
        (0..MANY).for_each(|_| left_out.leave_out());
        assert!(left_out.failure(false).is_none() && left_out.failure(true).is_some());
    }

    #[test]
    fn a_stop_makes_the_run_longer_unless_its_clock_fixes_it() {
        // Server and benchmark; work; sleeps of which one goes on while the program is stopped; a first run that was
        // slow; such a run, and its repetition.
        for (plain_s, wall_s, is_fixed) in [
            (1.058, 1.061, true),
            (1.0, 1.5, false),
            (1.0, 1.42, false),
            (1.3, 1.65, false),
            (1.0, 0.7, false),
            (0.891, 0.48, false),
        ] {
            assert_eq!(is_as_long(plain_s, wall_s), is_fixed, "{plain_s} {wall_s}");
        }
    }
}
