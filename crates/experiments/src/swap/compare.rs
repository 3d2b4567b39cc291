//! The comparison of variants: their runs in random order, the rows that come of them, and the runs that are watched.
//!
//! Wait and hold times come from one more run of each variant, under `contend trace`. Tracing costs time, so these runs
//! are not compared. That of the unmodified program is the first run of all: it says whether there is anything to substitute.

use super::plan::Plan;
use super::record::{SwapRow, TIMES, Verdict, WatchedLock};
use super::variant::{self, Variant};
use super::verdict::{Pair, is_disturbed};
use anyhow::Context;
use blame::Lost;
use blame::names::own_name;
use exchange::{Counts, PASS};
use harness::turns::{self, Rules, Turns, take_turns};
use harness::{Interrupted, Progress, Session};
use instruments::cpus::CpuSet;
use instruments::environment::Activity;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order;
use launch::{Failed, FinishedRun, Traced, TracedLock, Variables, ratio};
use record::Unit;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

/// Limits of a run with another lock: it may take this many times as long as the longest plain run, and this much
/// longer.
const LONGER: f64 = 10.0;
const MORE_S: f64 = 10.0;

/// The values of all runs, by metric: wall time, CPU time, numbers in the output.
type Samples = Vec<Vec<f64>>;

/// The samples of all sides, since a ratio needs two.
pub type All = Rc<RefCell<Vec<Samples>>>;

/// A variant and its runs.
pub struct Side {
    pub variant: Variant,
    pub place: usize,
    /// Objects that the library did not substitute.
    pub counts: Counts,
    /// The reason why it has no more runs.
    pub failed: Option<String>,
    /// The share of the CPUs that other programs had, by run, without runs that were too short for the kernel's
    /// account.
    pub others: Vec<f64>,
    all: All,
    seed: u64,
}

impl Side {
    /// Makes a side for each variant, with this number of metrics that the program prints.
    pub fn all(variants: &[Variant], metrics: usize, seed: u64) -> anyhow::Result<(Vec<Self>, All)> {
        let all = Rc::new(RefCell::new(vec![vec![Vec::new(); TIMES + metrics]; variants.len()]));
        let side = |(place, variant): (usize, &Variant)| {
            let (counts, all, variant) = (Counts::new()?, Rc::clone(&all), variant.clone());
            Ok(Self { variant, place, counts, failed: None, others: Vec::new(), all, seed })
        };
        let sides = variants.iter().enumerate().map(side).collect::<anyhow::Result<_>>()?;
        Ok((sides, all))
    }

    pub fn is_plain(&self) -> bool {
        self.variant.is_plain()
    }

    pub fn is_lock(&self) -> bool {
        !self.is_plain() && self.variant.lock != exchange::PASS
    }

    /// Adds the values of a run.
    pub fn add(&mut self, took: &FinishedRun, metrics: &[f64]) {
        let figures = [took.wall_s * 1e9, took.usage.cpu_s() * 1e9].into_iter().chain(metrics.iter().copied());
        let mut all = self.all.borrow_mut();
        all[self.place].iter_mut().zip(figures).for_each(|(samples, figure)| samples.push(figure));
    }

    /// Returns the place of the metric that decides.
    pub fn decisive_place(&self) -> usize {
        if self.all.borrow()[0].len() > TIMES { TIMES } else { 0 }
    }

    /// Returns the values that decide whether it is known well enough: the ratio to the plain runs, of the first
    /// metric, or of the wall time if there is none. The plain runs are known when the others are.
    fn decisive(&self) -> Vec<Estimate> {
        let all = self.all.borrow();
        let metric = self.decisive_place();
        let estimate = |place: usize| {
            let ratio = ratio(&all[place][metric], &all[0][metric], self.seed);
            Estimate::new(ratio.map_or(1.0, |ratio| ratio.estimate), ratio.map(|ratio| ratio.interval))
        };
        if self.is_plain() { (1..all.len()).map(estimate).collect() } else { vec![estimate(self.place)] }
    }
}

impl turns::Cell for Side {
    /// Returns whether the others are compared with it, or it with them.
    fn is_needed(&self) -> bool {
        true
    }

    fn title(&self) -> String {
        self.variant.lock.to_owned()
    }

    fn turns(&self) -> u64 {
        self.all.borrow()[self.place][0].len() as u64
    }

    fn figures(&self) -> Vec<Estimate> {
        self.decisive()
    }

    fn is_over(&self) -> bool {
        self.failed.is_some()
    }
}

/// All sides with their samples.
pub struct Sides {
    pub sides: Vec<Side>,
    pub all: All,
}

/// Runs the variants in random order.
pub fn measure(
    plan: &Plan,
    variants: &[Variant],
    rules: &Rules,
    session: &Session,
    progress: &Progress,
) -> anyhow::Result<(Sides, Turns)> {
    let (_library, path) = exchange::library().context("cannot copy the library into memory")?;
    let (mut sides, all) = Side::all(variants, plan.launch.metrics.len(), session.seed)?;
    let allowed = instruments::cpus::allowed()?;
    let turn = Turn { plan, session, path: &path, allowed, longest_plain_s: Cell::new(0.0) };
    // Whether it ends well as it is, and has the metrics, and how long the others may last.
    turn.warm_up(&mut sides[0], progress)?;
    for _ in 0..plan.launch.warmup {
        sides.iter_mut().try_for_each(|side| turn.warm_up(side, progress))?;
    }
    let turns = take_turns(&mut sides, rules, session, progress, |side: &mut Side| turn.take(side, progress))?;
    if all.borrow()[0][0].is_empty() {
        return Err(Interrupted.into());
    }
    Ok((Sides { sides, all }, turns))
}

/// The context of a run.
struct Turn<'a> {
    plan: &'a Plan,
    session: &'a Session,
    path: &'a str,
    allowed: CpuSet,
    longest_plain_s: Cell<f64>,
}

/// The part of a run from which on one tick of the kernel's account makes the account unusable for the run.
const COARSE: f64 = 0.05;

impl Turn<'_> {
    fn warm_up(&self, side: &mut Side, progress: &Progress) -> anyhow::Result<()> {
        progress.note(&format!("warm-up run: {}", side.variant.lock));
        if side.failed.is_none() {
            self.run(side)?;
        }
        Ok(())
    }

    fn take(&self, side: &mut Side, progress: &Progress) -> anyhow::Result<ControlFlow<()>> {
        progress.note(side.variant.lock);
        let before = Activity::now();
        match self.run(side) {
            Err(error) if error.is::<Interrupted>() => return Ok(ControlFlow::Break(())),
            Err(error) => return Err(error),
            Ok(None) => {}
            Ok(Some((took, metrics))) => {
                side.add(&took, &metrics);
                side.others.extend(before.ok().and_then(|before| self.others_share(&before)));
            }
        }
        Ok(self.session.interruption.flow())
    }

    /// Returns the share of the CPUs that other programs and the hypervisor had since then; `None` if that was too
    /// short to tell.
    fn others_share(&self, before: &Activity) -> Option<f64> {
        let share = Activity::now().ok()?.since(before, &self.allowed)?;
        (share.resolution_share <= COARSE).then_some(share.other_share + share.steal_share)
    }

    /// Returns a run, and its metrics; `None` if it did not end well, which is noted. As it is, the program has to.
    fn run(&self, side: &mut Side) -> anyhow::Result<Option<(FinishedRun, Vec<f64>)>> {
        let longest = self.longest_plain_s.get();
        let at_most = if longest > 0.0 { Some(longest_run(longest)) } else { self.plan.launch.longest_first() };
        let variables = side.variant.variables(self.path, &side.counts);
        let took = match self.plan.launch.run(&variables, at_most, &self.session.interruption)? {
            Ok(took) => took,
            Err(failed) if side.is_plain() => {
                anyhow::bail!(
                    "the unmodified program {}, so nothing was compared; last line of its output: {}",
                    failed.how,
                    failed.last_line()
                )
            }
            Err(failed) => {
                side.failed = Some(format!("{}; last line of its output: {}", failed.how, failed.last_line()));
                return Ok(None);
            }
        };
        if side.is_plain() {
            self.longest_plain_s.set(longest.max(took.wall_s));
        }
        match self.plan.launch.metrics_in(&took.output) {
            Ok(metrics) => Ok(Some((took, metrics))),
            Err(why) if side.is_plain() => anyhow::bail!("{why} (in a run of the unmodified program)"),
            Err(why) => {
                side.failed = Some(format!("printed no usable number: {why}"));
                Ok(None)
            }
        }
    }
}

impl Sides {
    /// Returns a row for each side and metric.
    pub fn rows(&self, plan: &Plan, seed: u64) -> Vec<SwapRow> {
        (0..TIMES + plan.launch.metrics.len()).flat_map(|metric| self.rows_of(plan, metric, seed)).collect()
    }

    /// Returns a row for each side, of one metric.
    pub fn rows_of(&self, plan: &Plan, place: usize, seed: u64) -> Vec<SwapRow> {
        let all = self.all.borrow();
        let (metric, unit, higher_is_better) = match plan.launch.metrics.get(place.wrapping_sub(TIMES)) {
            Some(own) => (own.pattern.name.clone(), Unit::Number, own.higher_is_better),
            None => (["wall time", "CPU time"][place].to_owned(), Unit::Ns, false),
        };
        let comparisons = comparisons(self.sides.len(), plan);
        let judge = |side: &Side, against: &Side| {
            let (over, under) = (&all[side.place][place], &all[against.place][place]);
            let ratio_ci = ratio(over, under, seed).map(|ratio| ratio.interval);
            let pair = Pair { over, under, ratio_ci, higher_is_better };
            match pair.verdict(comparisons) {
                _ if side.is_plain() => Verdict::Baseline,
                _ if side.failed.is_some() => Verdict::Failed,
                Verdict::NotJudged => Verdict::NotJudged,
                _ if is_disturbed(pair, &side.others, &against.others) => Verdict::BusyCpus,
                verdict => verdict,
            }
        };
        let pass = self.sides.iter().find(|side| !side.is_plain() && !side.is_lock());
        // The library alone does not change the locks: where it makes a difference, a lock has to be better than it,
        // too.
        let pass = pass.filter(|pass| matches!(judge(pass, &self.sides[0]), Verdict::Better | Verdict::Worse));
        let row = |side: &Side| {
            let values = all[side.place][place].clone();
            let ratio = ratio(&values, &all[0][place], seed).filter(|_| !side.is_plain());
            let verdict = judge(side, &self.sides[0]);
            let is_confirmed = pass.filter(|_| side.is_lock()).is_none_or(|pass| judge(side, pass) == verdict);
            let is_shown = matches!(verdict, Verdict::Better | Verdict::Worse);
            SwapRow {
                lock: side.variant.lock.to_owned(),
                metric: metric.clone(),
                unit,
                higher_is_better,
                runs: values.len() as u64,
                median: order::median(&values),
                ci: order::sample_quantile_interval(&values, 0.5, 0.95),
                ratio: ratio.map(|ratio| ratio.estimate),
                ratio_ci: ratio.map(|ratio| ratio.interval),
                verdict: match ratio {
                    Some(ratio) if is_shown && !is_confirmed => Verdict::open(ratio.interval),
                    _ => verdict,
                },
                others_share: order::median(&side.others),
                values,
            }
        };
        self.sides.iter().map(row).collect()
    }
}

/// Returns the number of verdicts of a table: each side but the plain one, in each metric.
pub fn comparisons(sides: usize, plan: &Plan) -> usize {
    (sides - 1) * (TIMES + plan.launch.metrics.len())
}

/// The number of traced locks in the record: those with the longest total wait.
const MOST_WATCHED: usize = 5;

/// Traces a run of the unmodified program; or returns the reason why there is no trace.
///
/// # Errors
/// The program has no lock that can be substituted.
pub fn probe(plan: &Plan, session: &Session, progress: &Progress) -> anyhow::Result<Result<Traced, String>> {
    progress.note("tracing the program to find its locks");
    let traced = traced(plan, &Variables::new(), plan.launch.longest_first(), session)?;
    traced.as_ref().map_or(Ok(()), |traced| variant::refuse_without_locks(traced, &plan.launch))?;
    Ok(traced)
}

/// Traces a run of each variant except the library alone and the unmodified program, whose traced run is `plain`.
pub fn watch(plan: &Plan, plain: &Traced, session: &Session, progress: &Progress) -> anyhow::Result<Watched> {
    let (_library, path) = exchange::library().context("cannot copy the library into memory")?;
    let mut all = watched_locks(plain, &Variant::plain());
    all.truncate(MOST_WATCHED);
    let names: Vec<String> = all.iter().map(|lock| lock.name.clone()).collect();
    let (mut most_lost, at_most) = (plain.lost, Some(longest_run(plain.wall_s)));
    for variant in plan.variants().iter().filter(|variant| variant.lock != PASS && !variant.is_plain()) {
        progress.note(&format!("traced run: {}", variant.lock));
        // The program opens the file of the counts, which must live as long as the run.
        let counts = Counts::new()?;
        // The comparison will say what fails with it.
        let Ok(traced) = traced(plan, &variant.variables(&path, &counts), at_most, session)? else { continue };
        most_lost = most_lost.or(traced.lost);
        all.extend(watched_locks(&traced, variant).into_iter().filter(|lock| names.contains(&lock.name)));
    }
    Ok(Watched { locks: all, lost: most_lost })
}

/// The locks of traced runs, and the largest loss of events in one of them.
pub struct Watched {
    pub locks: Vec<WatchedLock>,
    pub lost: Lost,
}

/// Returns one run; or why there is no trace of it.
fn traced(
    plan: &Plan,
    variables: &Variables,
    at_most: Option<Duration>,
    session: &Session,
) -> anyhow::Result<Result<Traced, String>> {
    let traced = plan.launch.run_traced(variables, at_most, &session.interruption)?;
    Ok(traced.map_err(|Failed { how, output }| format!("the traced run {how}: {}", output.trim_end())))
}

/// Returns the locks of one run.
fn watched_locks(traced: &Traced, variant: &Variant) -> Vec<WatchedLock> {
    let all: Vec<WatchedLock> =
        traced.locks.iter().filter(|lock| lock.excludes()).map(|lock| watched_lock(lock, variant)).collect();
    // The next run may number namesakes otherwise: nothing is said of locks that have any.
    let is_alone =
        |lock: &WatchedLock| all.iter().filter(|other| own_name(&other.name) == own_name(&lock.name)).count() == 1;
    all.iter().filter(|lock| is_alone(lock)).cloned().collect()
}

fn watched_lock(lock: &TracedLock, variant: &Variant) -> WatchedLock {
    WatchedLock {
        lock: variant.lock.to_owned(),
        name: lock.name.clone(),
        acquisitions: lock.acquisitions,
        contended: lock.contended,
        wait_total_s: lock.wait_total_s,
        wait_p50_ns: lock.wait_p50_ns,
        wait_p99_ns: lock.wait_p99_ns,
        hold_p50_ns: lock.hold_p50_ns,
        hold_p99_ns: lock.hold_p99_ns,
        holder_slept_share: lock.holder_slept_share(),
        held_at: lock.held_at().map(str::to_owned),
    }
}

/// Returns the time limit of a run with another lock.
fn longest_run(plain_s: f64) -> Duration {
    Duration::from_secs_f64(plain_s * LONGER + MORE_S)
}
