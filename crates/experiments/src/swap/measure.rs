//! The measurement: the search, if there is one, the runs of all variants in random order, and the warnings about them.

use super::compare::{All, Side, Sides, Watched, comparisons, measure, probe, watch};
use super::plan::Plan;
use super::record::{LEAST_EFFECT, LeftOf, SearchArm, SwapParameters, SwapRow, TIMES, Verdict, WatchedLock};
use super::variant::{self, Found, PLAIN, Variant};
use super::verdict::{self, busy_share};
use blame::Lost;
use exchange::Left;
use harness::turns::Rules;
use harness::{Interrupted, Progress, Session};
use instruments::warning::{Warning, WarningKind};
use launch::unsteady;
use serde::Serialize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use terminal::percent;

/// The result of the measurement.
pub struct Measured {
    pub parameters: SwapParameters,
    pub rows: Vec<SwapRow>,
    pub warnings: Vec<Warning>,
    pub failures: Vec<String>,
}

/// Runs the program plainly and with each lock, in random order. A search for the mutexes that matter comes first.
pub fn run_plan(plan: &mut Plan, session: &Session, progress: &Progress) -> anyhow::Result<Measured> {
    let plain = probe(plan, session, progress)?;
    let began = Instant::now();
    let mut arms = Vec::new();
    let mut flags = None;
    let mut searched_plainly = None;
    if let Some(among) = plan.search.take() {
        let searched = search(plan, &among, session, progress)?;
        arms = searched.arms;
        if let Some(best) = searched.best {
            flags = Some(best.flags());
            plan.locks.retain(|lock| lock.name == best.lock);
            plan.only = best.only;
        }
        searched_plainly = Some(searched.plain);
    }
    let rules = plan.launch.rules(began);
    let (measured, turns) = match (measure(plan, &plan.variants(), &rules, session, progress), searched_plainly) {
        (Ok((measured, turns)), _) => (measured, Some(turns)),
        // The search is all that there was time for.
        (Err(error), Some(plain)) if error.is::<Interrupted>() => (plain, None),
        (Err(error), _) => return Err(error),
    };
    // Last, so that they take no time from what is compared; a signal ends these runs alone.
    let seen = match plain.map(|plain| watch(plan, &plain, session, progress)) {
        Ok(Err(error)) if error.is::<Interrupted>() => Err("interrupted before the traced runs".to_owned()),
        Ok(seen) => Ok(seen?),
        Err(why) => Err(why),
    };
    let Sides { sides, all } = &measured;
    let rows = measured.rows(plan, session.seed);
    let mut warnings = warnings(plan, sides, all);
    warnings.extend(turns.iter().flat_map(|turns| rules.not_converged(sides, turns, "the ratio of ")));
    let failed = |side: &Side| side.failed.as_ref().map(|how| format!("with {}, the program {how}", side.variant.lock));
    let failures = sides.iter().filter_map(failed).collect();
    let (watched, unwatched, lost) = match seen {
        Ok(Watched { locks, lost }) => (locks, None, lost),
        Err(why) => (Vec::new(), Some(why), Lost::default()),
    };
    let order = turns.map_or_else(Vec::new, |turns| turns.order);
    let (search, search_flags) = (arms, flags);
    let parameters = SwapParameters { search, search_flags, watched, unwatched, ..parameters(plan, sides, order) };
    warnings.extend(plan.lost.or(lost).warning());
    warnings.extend(sleeping(&parameters.watched).map(Warning::from));
    Ok(Measured { parameters, rows, warnings, failures })
}

fn warnings(plan: &Plan, sides: &[Side], all: &All) -> Vec<Warning> {
    let unsteady = unsteady(&all.borrow()[0][0]);
    let spins = plan.locks.iter().filter(|lock| !lock.sleeps);
    let spins = spins.map(|lock| SpinningLock { lock: lock.name.to_owned() }.into());
    let failed = sides.iter().filter_map(|side| {
        side.failed.clone().map(|how| FailedWithLock { lock: side.variant.lock.to_owned(), how }.into())
    });
    let by_code = plan.only.iter().any(|(name, _)| variant::is_function(name));
    let is_without = |side: &&Side| by_code && side.is_lock() && side.counts.left().chosen.load(Relaxed) == 0;
    let without = sides.iter().filter(is_without);
    let without = without.map(|side| NothingExchanged { lock: side.variant.lock.to_owned() }.into());
    let busy = sides[1..].iter().filter_map(|side| busy_share(&side.others, &sides[0].others));
    let busy = busy.max_by(f64::total_cmp).map(|share| BusyCpus { share }.into());
    unsteady.into_iter().chain(busy).chain(spins).chain(failed).chain(without).collect()
}

fn parameters(plan: &Plan, sides: &[Side], order: Vec<Vec<usize>>) -> SwapParameters {
    let left = |side: &Side| {
        let Left { processes, robust, priority, shared, rwlocks, spins, chosen } = side.counts.left();
        let [processes, robust, priority, shared, rwlocks, spins, chosen] =
            [processes, robust, priority, shared, rwlocks, spins, chosen].map(|count| count.load(Relaxed));
        let (lock, failed) = (side.variant.lock.to_owned(), side.failed.clone());
        LeftOf { lock, processes, robust, priority, shared, rwlocks, spins, chosen, failed }
    };
    SwapParameters {
        compared_program: plan.launch.words(),
        swap_only: variant::names(&plan.only),
        search: Vec::new(),
        search_flags: None,
        prepare: plan.launch.prepare.clone(),
        cleanup: plan.launch.cleanup.clone(),
        client: plan.launch.client.as_ref().map(|client| client.command.clone()),
        warmup: plan.launch.warmup,
        comparisons: comparisons(sides.len(), plan) as u64,
        least_effect_share: LEAST_EFFECT,
        order,
        left: sides.iter().filter(|side| !side.is_plain()).map(left).collect(),
        watched: Vec::new(),
        unwatched: None,
    }
}

/// The result of the search.
struct Searched {
    arms: Vec<SearchArm>,
    /// The lock, and where; `None` if it pays nowhere.
    best: Option<Variant>,
    /// The plain runs of its last stage.
    plain: Sides,
}

/// Runs of each arm in the first stage; twice as many in the next, and so on, but not more.
const RUNS: u64 = 6;
const MOST_RUNS: u64 = 24;
/// This number of arms is not halved.
const FEW: usize = 2;

/// Searches among these mutexes for those that another lock makes faster, by successive halving.
///
/// Every mutex alone with every lock is an arm. All arms and the plain program have a few runs. The better half, and
/// any arm with the verdict better, has twice as many runs in the next stage, until all remaining arms are better or
/// few. Those mutexes are then substituted together, by the lock that gains most.
fn search(plan: &Plan, among: &Found, session: &Session, progress: &Progress) -> anyhow::Result<Searched> {
    let began = Instant::now();
    let alone = |lock: &'static str| among.iter().map(move |one| Variant { lock, only: vec![one.clone()] });
    let mut arms: Vec<Variant> = plan.locks.iter().flat_map(|lock| alone(lock.name)).collect();
    // With fewer runs no arm could be shown to be better.
    let (mut told, mut runs) =
        (Vec::new(), RUNS.max(verdict::fewest_runs(arms.len() * (TIMES + plan.launch.metrics.len()))));
    let mut last: Option<Searched> = None;
    for stage in 1.. {
        let sides = [vec![Variant::plain()], arms.clone()].concat();
        let budget = plan.launch.budget.map(|budget| budget.saturating_sub(began.elapsed()) / 2);
        let rules = Rules { began: Instant::now(), budget, precision: None, at_least: runs, at_most: runs };
        let (mut sides, _) = match (measure(plan, &sides, &rules, session, progress), last.take()) {
            // The results of the stages before are not lost.
            (Err(error), Some(before)) if error.is::<Interrupted>() => return Ok(before),
            (measured, _) => measured?,
        };
        // Each arm with its row of the metric that decides.
        let rows = sides.rows_of(plan, sides.sides[0].decisive_place(), session.seed);
        let mut judged: Vec<(SwapRow, Variant)> = rows.into_iter().skip(1).zip(arms).collect();
        judged.sort_by(|a, b| b.0.gain().total_cmp(&a.0.gain()));
        let half = judged.len().div_ceil(2);
        let is_better = |row: &SwapRow| row.verdict == Verdict::Better;
        let all = judged.len();
        let is_kept = |(place, (row, _)): &(usize, (SwapRow, Variant))| {
            is_better(row) || (*place < half && all > FEW && row.verdict != Verdict::Failed)
        };
        let (kept, dropped): (Vec<_>, Vec<_>) = judged.into_iter().enumerate().partition(is_kept);
        told.extend(kept.iter().map(|(_, (row, variant))| SearchArm::of(stage, row, variant, true)));
        told.extend(dropped.iter().map(|(_, (row, variant))| SearchArm::of(stage, row, variant, false)));
        let is_over = kept.iter().all(|(_, (row, _))| is_better(row))
            || dropped.is_empty()
            || budget.is_some_and(|budget| budget.is_zero())
            || session.interruption.is_requested();
        let kept: Vec<(SwapRow, Variant)> = kept.into_iter().map(|(_, arm)| arm).collect();
        sides.sides.truncate(1);
        let searched = Searched { arms: told.clone(), best: together(plan, &kept), plain: sides };
        if is_over {
            return Ok(searched);
        }
        last = Some(searched);
        arms = kept.into_iter().map(|(_, variant)| variant).collect();
        runs = (runs * 2).min(MOST_RUNS.max(runs));
    }
    unreachable!("a stage drops an arm, or is the last")
}

/// Returns the variants that are better, of the lock whose gains together are the largest.
fn together(plan: &Plan, kept: &[(SwapRow, Variant)]) -> Option<Variant> {
    let better = |lock: &str| {
        let of_lock = |(row, variant): &&(SwapRow, Variant)| variant.lock == lock && row.verdict == Verdict::Better;
        kept.iter().filter(of_lock).collect::<Vec<_>>()
    };
    let gains = |lock: &str| better(lock).iter().map(|(row, _)| row.gain().ln()).sum::<f64>();
    let lock = plan.locks.iter().map(|lock| lock.name).max_by(|a, b| gains(a).total_cmp(&gains(b)))?;
    let only: Found = better(lock).iter().flat_map(|(_, variant)| variant.only.clone()).collect();
    (!only.is_empty()).then_some(Variant { lock, only })
}

/// Other programs had the CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct BusyCpus {
    share: f64,
}

impl WarningKind for BusyCpus {
    const CODE: &'static str = "busy_cpus";

    fn message(&self) -> String {
        format!("other programs used {} of the CPUs during the compared runs", percent(self.share))
    }

    fn remedy(&self) -> &'static str {
        "stop other programs and repeat: these runs do not show whether a lock is better"
    }
}

/// The holder of a lock sleeps while others wait.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SleepingHolder {
    pub lock: String,
    pub share: f64,
    /// The place whose holds were waited for most.
    pub held_at: Option<String>,
}

impl WarningKind for SleepingHolder {
    const CODE: &'static str = "sleeping_holder";

    fn message(&self) -> String {
        let Self { lock, share, held_at } = self;
        let place = held_at.as_ref().map_or_else(String::new, |place| format!("; it was mostly acquired at {place}"));
        format!(
            "{lock}: its holder slept or waited for {} of the time that other threads waited{place}",
            percent(*share)
        )
    }

    fn remedy(&self) -> &'static str {
        "move the sleep out of the critical section: another lock cannot shorten it"
    }
}

/// A lock that does not sleep.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct SpinningLock {
    lock: String,
}

impl WarningKind for SpinningLock {
    const CODE: &'static str = "spinning_lock";

    fn message(&self) -> String {
        format!(
            "{}: its waiters do not sleep, and take CPU time from the holder if there are more threads than CPUs",
            self.lock
        )
    }

    fn remedy(&self) -> &'static str {
        "use it for contrast only; a run is stopped after ten times the longest plain run plus 10 s"
    }
}

/// A lock with which the program did not end well.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct FailedWithLock {
    lock: String,
    how: String,
}

impl WarningKind for FailedWithLock {
    const CODE: &'static str = "failed_with_lock";

    fn message(&self) -> String {
        format!("with {}, the program {}; it was not run again with this lock", self.lock, self.how)
    }

    fn remedy(&self) -> &'static str {
        "report this if the program succeeds unmodified and with pass: it relies on behaviour that POSIX does not \
         guarantee, or the library has a bug"
    }
}

/// A lock that no mutex has had.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct NothingExchanged {
    lock: String,
}

impl WarningKind for NothingExchanged {
    const CODE: &'static str = "nothing_exchanged";

    fn message(&self) -> String {
        format!("with {}: no mutex was initialised or first acquired in the functions named by --swap-only", self.lock)
    }

    fn remedy(&self) -> &'static str {
        "name their callers, or compile with -fno-inline: the compiler may have inlined these functions"
    }
}

/// Returns the locks whose holders slept while others waited, by the plain watched run.
pub fn sleeping(watched: &[WatchedLock]) -> impl Iterator<Item = SleepingHolder> {
    const MUCH: f64 = 0.3;
    let plain = watched.iter().filter(|lock| lock.lock == PLAIN && lock.wait_total_s > 0.0);
    plain.filter_map(|lock| {
        let share = lock.holder_slept_share.filter(|share| *share >= MUCH)?;
        Some(SleepingHolder { lock: lock.name.clone(), share, held_at: lock.held_at.clone() })
    })
}
