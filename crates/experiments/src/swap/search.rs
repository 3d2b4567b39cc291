//! The mutexes for which another lock pays, one by one: successive halving.
//!
//! Every mutex alone with every lock is an arm. All arms and the plain program have a few runs. The better half, and
//! any arm with the verdict better, has twice as many runs in the next stage, until all remaining arms are better or
//! few. Those mutexes are then substituted together, by the lock that gains most.

use super::compare::{Sides, measure};
use super::mutex_filter::Found;
use super::plan::Plan;
use super::record::{SearchArm, SwapRow, TIMES, Verdict};
use super::variant::Variant;
use super::verdict;
use harness::turns::Rules;
use harness::{Interrupted, Progress, Session};
use std::time::Instant;

/// The result of the search.
pub struct Searched {
    pub arms: Vec<SearchArm>,
    /// The lock, and where; `None` if it pays nowhere.
    pub best: Option<Variant>,
    /// The plain runs of its last stage.
    pub plain: Sides,
}

/// Runs of each arm in the first stage; twice as many in the next, and so on, but not more.
const RUNS: u64 = 6;
const MOST_RUNS: u64 = 24;
/// This number of arms is not halved.
const FEW: usize = 2;

/// Searches among these mutexes.
pub fn search(plan: &Plan, among: &Found, session: &Session, progress: &Progress) -> anyhow::Result<Searched> {
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
