//! The measurement: runs in turns. It prints nothing.

use super::plan::{Metric, Plan};
use super::ratios::{ratio, spread};
use super::record::{LeftOf, SwapParameters, SwapRow, Verdict};
use super::run::{Failed, Library, Took, run};
use super::sides::{All, Samples, Side};
use super::warnings::{FailedWithLock, SpinningLock, UnsteadyProgram};
use anyhow::Context;
use exchange::Left;
use harness::turns::{Rules, take_turns};
use harness::{Interrupted, Progress, Session};
use instruments::statistics::{Interval, order};
use instruments::warning::Warning;
use record::Unit;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// What the measurement brought.
pub struct Measured {
    pub parameters: SwapParameters,
    pub rows: Vec<SwapRow>,
    pub warnings: Vec<Warning>,
    pub failures: Vec<String>,
}

/// Plain runs that differ by more than this are said to.
const STEADY: f64 = 1.5;
/// With another lock a run may last so many times as long as the longest plain one, and so long more.
const LONGER: f64 = 10.0;
const MORE_S: f64 = 10.0;

/// Runs the program plainly and with each lock, in turns.
///
/// # Errors
/// It cannot be started, or does not end well as it is; a metric is not found.
pub fn run_plan(plan: &Plan, session: &Session, progress: &Progress) -> anyhow::Result<Measured> {
    let (_library, path) = exchange::library().context("the library cannot be put into memory")?;
    let (mut sides, all) = Side::all(plan, session.seed)?;
    let began = Instant::now();
    let turn = Turn { plan, session, path: &path, longest_plain_s: Cell::new(0.0) };
    // Whether it ends well as it is, and has the metrics, and how long the others may last.
    turn.warm_up(&mut sides[0], progress)?;
    for _ in 0..plan.warmup {
        sides.iter_mut().try_for_each(|side| turn.warm_up(side, progress))?;
    }
    let Plan { budget, precision, at_least, at_most, .. } = *plan;
    let rules = Rules { began, budget, precision, at_least, at_most };
    let visit = |side: &mut Side| turn.take(side, progress);
    let turns = take_turns(&mut sides, &rules, session, progress, visit)?;
    if all.borrow()[0][0].is_empty() {
        return Err(Interrupted.into());
    }
    let rows = rows(plan, &sides, &all, session.seed);
    let mut warnings = warnings(plan, &sides, &all);
    warnings.extend(rules.not_converged(&sides, &turns, "the ratio of "));
    let failed = |side: &Side| side.failed.as_ref().map(|how| format!("with {} the program {how}", side.lock));
    let failures = sides.iter().filter_map(failed).collect();
    Ok(Measured { parameters: parameters(plan, &sides, turns.order), rows, warnings, failures })
}

/// What all turns need.
struct Turn<'a> {
    plan: &'a Plan,
    session: &'a Session,
    path: &'a str,
    longest_plain_s: Cell<f64>,
}

impl Turn<'_> {
    fn warm_up(&self, side: &mut Side, progress: &Progress) -> anyhow::Result<()> {
        progress.note(&format!("warming up, {}", side.lock));
        if side.failed.is_none() {
            self.run(side)?;
        }
        Ok(())
    }

    fn take(&self, side: &mut Side, progress: &Progress) -> anyhow::Result<ControlFlow<()>> {
        progress.note(side.lock);
        match self.run(side) {
            Err(error) if error.is::<Interrupted>() => return Ok(ControlFlow::Break(())),
            Err(error) => return Err(error),
            Ok(None) => {}
            Ok(Some((took, metrics))) => side.add(&took, &metrics),
        }
        Ok(self.session.interruption.flow())
    }

    /// A run, and its metrics; `None` if it did not end well, which is noted. As it is, the program has to.
    fn run(&self, side: &mut Side) -> anyhow::Result<Option<(Took, Vec<f64>)>> {
        let library = Library { path: self.path, lock: side.lock, counts: &side.counts };
        let library = (!side.is_plain()).then_some(&library);
        let longest = self.longest_plain_s.get();
        let at_most = library.filter(|_| longest > 0.0).map(|_| Duration::from_secs_f64(longest * LONGER + MORE_S));
        let took = match run(self.plan, library, at_most, &self.session.interruption)? {
            Ok(took) => took,
            Err(Failed { how, output }) if side.is_plain() => {
                anyhow::bail!(
                    "the program as it is {how}, so that nothing is compared; it printed last: {}",
                    tail(&output)
                )
            }
            Err(Failed { how, output }) => {
                side.failed = Some(format!("{how}; it printed last: {}", tail(&output)));
                return Ok(None);
            }
        };
        if side.is_plain() {
            self.longest_plain_s.set(longest.max(took.wall_s));
        }
        match self.found(&took.output) {
            Ok(metrics) => Ok(Some((took, metrics))),
            Err(why) if side.is_plain() => anyhow::bail!("with the program as it is {why}"),
            Err(why) => {
                side.failed = Some(format!("printed something else: {why}"));
                Ok(None)
            }
        }
    }

    /// The metrics in what a run printed, or why one is not there.
    fn found(&self, output: &str) -> Result<Vec<f64>, String> {
        let find = |metric: &Metric| {
            let found = metric.pattern.find(output);
            found.map_err(|why| format!("--metric {} {why}", metric.pattern.name))
        };
        self.plan.metrics.iter().map(find).collect()
    }
}

/// The last line of what was printed.
fn tail(output: &str) -> String {
    let last = output.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| "nothing".to_owned(), |line| format!("{:?}", line.chars().take(200).collect::<String>()))
}

fn rows(plan: &Plan, sides: &[Side], all: &All, seed: u64) -> Vec<SwapRow> {
    let all = all.borrow();
    let times = ["wall time", "CPU time"].map(|name| (name.to_owned(), Unit::Ns, false));
    let own = plan.metrics.iter().map(|own| (own.pattern.name.clone(), Unit::Number, own.higher_is_better));
    let metrics: Vec<(String, Unit, bool)> = times.into_iter().chain(own).collect();
    let row = |side: &Side, place: usize| {
        let (metric, unit, higher_is_better) = metrics[place].clone();
        let values = all[side.place][place].clone();
        let ratio = ratio(&values, &all[0][place], seed).filter(|_| !side.is_plain());
        let interval = ratio.map(|ratio| ratio.interval);
        SwapRow {
            lock: side.lock.to_owned(),
            metric,
            unit,
            higher_is_better,
            runs: values.len() as u64,
            median: order::median(&values),
            ci: order::sample_quantile_interval(&values, 0.5, 0.95),
            ratio: ratio.map(|ratio| ratio.estimate),
            ratio_ci: interval,
            verdict: verdict(side, interval, higher_is_better),
            values,
        }
    };
    (0..metrics.len()).flat_map(|place| sides.iter().map(move |side| (side, place))).map(|(s, p)| row(s, p)).collect()
}

fn verdict(side: &Side, ratio: Option<Interval>, higher_is_better: bool) -> Verdict {
    match ratio {
        _ if side.is_plain() => Verdict::Baseline,
        _ if side.failed.is_some() => Verdict::Failed,
        None => Verdict::NotJudged,
        Some(ratio) if ratio.contains(1.0) => Verdict::NoDifferenceShown,
        Some(ratio) if (ratio.low > 1.0) == higher_is_better => Verdict::Better,
        Some(_) => Verdict::Worse,
    }
}

fn warnings(plan: &Plan, sides: &[Side], all: &All) -> Vec<Warning> {
    let plain: &Samples = &all.borrow()[0];
    let spread = spread(&plain[0]);
    let unsteady = (spread > STEADY).then(|| UnsteadyProgram { spread }.into());
    let spins = plan.locks.iter().filter(|lock| !lock.sleeps);
    let spins = spins.map(|lock| SpinningLock { lock: lock.name.to_owned() }.into());
    let failed = sides
        .iter()
        .filter_map(|side| side.failed.clone().map(|how| FailedWithLock { lock: side.lock.to_owned(), how }.into()));
    unsteady.into_iter().chain(spins).chain(failed).collect()
}

fn parameters(plan: &Plan, sides: &[Side], order: Vec<Vec<usize>>) -> SwapParameters {
    let left = |side: &Side| {
        let Left { processes, robust, priority, shared, rwlocks, spins } = side.counts.left();
        let [processes, robust, priority, shared, rwlocks, spins] =
            [processes, robust, priority, shared, rwlocks, spins].map(|count| count.load(Relaxed));
        let (lock, failed) = (side.lock.to_owned(), side.failed.clone());
        LeftOf { lock, processes, robust, priority, shared, rwlocks, spins, failed }
    };
    SwapParameters {
        compared_program: plan.program.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        prepare: plan.prepare.clone(),
        cleanup: plan.cleanup.clone(),
        warmup: plan.warmup,
        order,
        left: sides.iter().filter(|side| !side.is_plain()).map(left).collect(),
    }
}
