//! The measurement: runs in turns. It prints nothing.

use super::plan::{Metric, Plan};
use super::ratios::ratio;
use super::record::{SwapRow, Verdict};
use super::run::{Failed, Library, Took, run};
use super::sides::{All, Samples, Side, TIMES};
use super::variant::Variant;
use super::verdict::{Pair, is_disturbed};
use anyhow::Context;
use harness::turns::{Rules, Turns, take_turns};
use harness::{Interrupted, Progress, Session};
use instruments::cpus::CpuSet;
use instruments::environment::Activity;
use instruments::statistics::order;
use record::Unit;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::time::Duration;

/// With another lock a run may last so many times as long as the longest plain one, and so long more.
const LONGER: f64 = 10.0;
const MORE_S: f64 = 10.0;

/// All sides, and what their runs brought.
pub struct Sides {
    pub sides: Vec<Side>,
    pub all: All,
}

/// Runs the variants in turns.
///
/// # Errors
/// The program cannot be started, or does not end well as it is; a metric is not found.
pub fn measure(
    plan: &Plan,
    variants: &[Variant],
    rules: &Rules,
    session: &Session,
    progress: &Progress,
) -> anyhow::Result<(Sides, Turns)> {
    let (_library, path) = exchange::library().context("cannot copy the library into memory")?;
    let (mut sides, all) = Side::all(variants, plan.metrics.len(), session.seed)?;
    let allowed = instruments::cpus::allowed()?;
    let turn = Turn { plan, session, path: &path, allowed, longest_plain_s: Cell::new(0.0) };
    // Whether it ends well as it is, and has the metrics, and how long the others may last.
    turn.warm_up(&mut sides[0], progress)?;
    for _ in 0..plan.warmup {
        sides.iter_mut().try_for_each(|side| turn.warm_up(side, progress))?;
    }
    let turns = take_turns(&mut sides, rules, session, progress, |side: &mut Side| turn.take(side, progress))?;
    if all.borrow()[0][0].is_empty() {
        return Err(Interrupted.into());
    }
    Ok((Sides { sides, all }, turns))
}

/// What all turns need.
struct Turn<'a> {
    plan: &'a Plan,
    session: &'a Session,
    path: &'a str,
    allowed: CpuSet,
    longest_plain_s: Cell<f64>,
}

/// Where one tick of the kernel's account is more of a run than this, the account says nothing of it.
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

    /// A run, and its metrics; `None` if it did not end well, which is noted. As it is, the program has to.
    fn run(&self, side: &mut Side) -> anyhow::Result<Option<(Took, Vec<f64>)>> {
        let library =
            Library { path: self.path, lock: side.variant.lock, only: &side.variant.only, counts: &side.counts };
        let library = (!side.is_plain()).then_some(&library);
        let longest = self.longest_plain_s.get();
        let at_most = library.filter(|_| longest > 0.0).map(|_| Duration::from_secs_f64(longest * LONGER + MORE_S));
        let variables = library.map(Library::variables).unwrap_or_default();
        let took = match run(self.plan, &variables, at_most, &self.session.interruption)? {
            Ok(took) => took,
            Err(Failed { how, output }) if side.is_plain() => {
                anyhow::bail!(
                    "the unmodified program {how}, so nothing was compared; last line of its output: {}",
                    tail(&output)
                )
            }
            Err(Failed { how, output }) => {
                side.failed = Some(format!("{how}; last line of its output: {}", tail(&output)));
                return Ok(None);
            }
        };
        if side.is_plain() {
            self.longest_plain_s.set(longest.max(took.wall_s));
        }
        match self.found(&took.output) {
            Ok(metrics) => Ok(Some((took, metrics))),
            Err(why) if side.is_plain() => anyhow::bail!("{why} (in a run of the unmodified program)"),
            Err(why) => {
                side.failed = Some(format!("printed no usable number: {why}"));
                Ok(None)
            }
        }
    }

    /// The metrics in what a run printed, or why one is not there.
    fn found(&self, output: &str) -> Result<Vec<f64>, String> {
        let find = |metric: &Metric| {
            let found = metric.pattern.find(output);
            found.map_err(|why| format!("--metric {}: {why}", metric.pattern.name))
        };
        self.plan.metrics.iter().map(find).collect()
    }
}

/// The last line of what was printed.
fn tail(output: &str) -> String {
    let last = output.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| "none".to_owned(), |line| format!("{:?}", line.chars().take(200).collect::<String>()))
}

impl Sides {
    /// The place of the metric that decides: the first of the program's own, or the wall time.
    pub fn decisive(&self) -> usize {
        self.sides[0].decisive_place()
    }

    /// A row for each side and metric.
    pub fn rows(&self, plan: &Plan, seed: u64) -> Vec<SwapRow> {
        (0..TIMES + plan.metrics.len()).flat_map(|metric| self.rows_of(plan, metric, seed)).collect()
    }

    /// A row for each side, of one metric.
    pub fn rows_of(&self, plan: &Plan, place: usize, seed: u64) -> Vec<SwapRow> {
        let all = self.all.borrow();
        let (metric, unit, higher_is_better) = match plan.metrics.get(place.wrapping_sub(TIMES)) {
            Some(own) => (own.pattern.name.clone(), Unit::Number, own.higher_is_better),
            None => (["wall time", "CPU time"][place].to_owned(), Unit::Ns, false),
        };
        let judge =
            Judge { all: &all, place, seed, higher_is_better, comparisons: comparisons(self.sides.len(), plan) };
        let pass = self.sides.iter().find(|side| !side.is_plain() && !side.is_lock());
        // The library alone does not change the locks: where it makes a difference, a lock has to be better than it,
        // too.
        let pass = pass.filter(|pass| matches!(judge.verdict(pass, &self.sides[0]), Verdict::Better | Verdict::Worse));
        let row = |side: &Side| {
            let values = all[side.place][place].clone();
            let ratio = ratio(&values, &all[0][place], seed).filter(|_| !side.is_plain());
            let verdict = judge.verdict(side, &self.sides[0]);
            let is_confirmed = pass.filter(|_| side.is_lock()).is_none_or(|pass| judge.verdict(side, pass) == verdict);
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
                verdict: if is_shown && !is_confirmed { Verdict::NoDifferenceShown } else { verdict },
                others_share: order::median(&side.others),
                values,
            }
        };
        self.sides.iter().map(row).collect()
    }
}

/// How many verdicts a table has: each side but the plain one, in each metric.
pub fn comparisons(sides: usize, plan: &Plan) -> usize {
    (sides - 1) * (TIMES + plan.metrics.len())
}

/// Judges the sides in one metric.
struct Judge<'a> {
    all: &'a [Samples],
    place: usize,
    seed: u64,
    higher_is_better: bool,
    comparisons: usize,
}

impl Judge<'_> {
    fn verdict(&self, side: &Side, against: &Side) -> Verdict {
        let (over, under) = (&self.all[side.place][self.place], &self.all[against.place][self.place]);
        let ratio_ci = ratio(over, under, self.seed).map(|ratio| ratio.interval);
        let pair = Pair { over, under, ratio_ci, higher_is_better: self.higher_is_better };
        match pair.verdict(self.comparisons) {
            _ if side.is_plain() => Verdict::Baseline,
            _ if side.failed.is_some() => Verdict::Failed,
            Verdict::NotJudged => Verdict::NotJudged,
            _ if is_disturbed(pair, &side.others, &against.others) => Verdict::BusyCpus,
            verdict => verdict,
        }
    }
}
