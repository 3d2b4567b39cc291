//! The measurement: the search, if there is one, the runs of all variants in random order, and the warnings about them.

use super::compare::{All, Side, Sides, Watched, comparisons, measure, watch};
use super::mutex_filter;
use super::plan::Plan;
use super::record::{LeftOf, SwapParameters, SwapRow};
use super::search::search;
use super::verdict::{LEAST_EFFECT, busy_share};
use super::warnings::{BusyCpus, FailedWithLock, NothingExchanged, SpinningLock, sleeping};
use blame::Lost;
use exchange::Left;
use harness::{Interrupted, Progress, Session};
use instruments::warning::Warning;
use launch::unsteady;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// The result of the measurement.
pub struct Measured {
    pub parameters: SwapParameters,
    pub rows: Vec<SwapRow>,
    pub warnings: Vec<Warning>,
    pub failures: Vec<String>,
}

/// Runs the program plainly and with each lock, in random order. A search for the mutexes that matter comes first.
pub fn run_plan(plan: &mut Plan, session: &Session, progress: &Progress) -> anyhow::Result<Measured> {
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
    let seen = match watch(plan, session, progress) {
        Err(error) if error.is::<Interrupted>() => Err("interrupted before the traced runs".to_owned()),
        seen => seen?,
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
    let by_code = plan.only.iter().any(|(name, _)| mutex_filter::is_function(name));
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
        swap_only: mutex_filter::names(&plan.only),
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
